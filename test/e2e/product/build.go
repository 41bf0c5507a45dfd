package product

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
)

// Programs are the paths of what was built.
type Programs struct {
	Trigger  string
	Function string
	Chaos    string // the function, with deaths at its checkpoints
}

// sources of the programs, by name.
var sources = map[string]string{"trigger": "./cmd/trigger", "roll-fn": "./cmd/roll-fn", "roll-fn-chaos": "./test/e2e/cmd/roll-fn-chaos"}

// Build builds the named programs of this checkout into dir, all of them if
// none is named. The compiler flags are those of the tests, so that no package
// is compiled twice.
func Build(ctx context.Context, dir string, names ...string) (Programs, error) {
	return build(ctx, dir, how{}, names...)
}

// BuildAltered is Build with an overlay of the Go command: a file that names
// altered sources to be compiled instead of those of the checkout.
func BuildAltered(ctx context.Context, dir, overlay string, names ...string) (Programs, error) {
	return build(ctx, dir, how{flags: []string{"-overlay", overlay}}, names...)
}

// BuildShipped builds trigger and function as `make build` does.
func BuildShipped(ctx context.Context, dir string) (Programs, error) {
	return build(ctx, dir, how{[]string{"-trimpath", "-tags=grpcnotrace"}, []string{"CGO_ENABLED=0"}}, "trigger", "roll-fn")
}

// how something is built, beside what all builds have in common.
type how struct{ flags, env []string }

func build(ctx context.Context, dir string, h how, names ...string) (Programs, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return Programs{}, err
	}
	for name, source := range sources {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		c := child.Command{Name: "building " + source, Path: "go", Dir: root, Env: h.env, Log: filepath.Join(dir, "build-"+name+".log"),
			Args: append(append([]string{"build", "-ldflags", "-s -w", "-o", filepath.Join(dir, name)}, h.flags...), source)}
		if err := child.Run(ctx, c); err != nil {
			return Programs{}, err
		}
	}
	return Programs{Trigger: filepath.Join(dir, "trigger"), Function: filepath.Join(dir, "roll-fn"), Chaos: filepath.Join(dir, "roll-fn-chaos")}, nil
}
