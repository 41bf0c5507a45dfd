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
	return build(ctx, dir, nil, names...)
}

// BuildShipped builds trigger and function as `make build` does.
func BuildShipped(ctx context.Context, dir string) (Programs, error) {
	return build(ctx, dir, []string{"-trimpath", "-tags=grpcnotrace"}, "trigger", "roll-fn")
}

func build(ctx context.Context, dir string, flags []string, names ...string) (Programs, error) {
	root, err := cluster.Root(ctx)
	if err != nil {
		return Programs{}, err
	}
	for name, source := range sources {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		c := child.Command{Name: "building " + source, Path: "go", Dir: root, Log: filepath.Join(dir, "build-"+name+".log"),
			Args: append(append([]string{"build", "-ldflags", "-s -w", "-o", filepath.Join(dir, name)}, flags...), source)}
		if len(flags) > 0 {
			c.Env = []string{"CGO_ENABLED=0"}
		}
		if err := child.Run(ctx, c); err != nil {
			return Programs{}, err
		}
	}
	return Programs{Trigger: filepath.Join(dir, "trigger"), Function: filepath.Join(dir, "roll-fn"), Chaos: filepath.Join(dir, "roll-fn-chaos")}, nil
}
