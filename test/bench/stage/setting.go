package stage

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
	"github.com/etcdroll/etcdroll/test/scale/setting"
)

// Setting is what every row of this sitting has in common.
func (s *Stage) Setting(ctx context.Context) (ledger.Setting, error) {
	kubernetes, err := s.cluster.Client.Discovery().ServerVersion()
	if err != nil {
		return ledger.Setting{}, err
	}
	root, err := cluster.Root(ctx)
	if err != nil {
		return ledger.Setting{}, err
	}
	commit, err := setting.Commit(ctx, root, measured...)
	return ledger.Setting{
		Config: fmt.Sprintf("%d members of etcd %s, %d writes a second with a deadline of %s each, soak %s, Kubernetes %s, Knative Eventing %s",
			s.Members, s.Version, s.Rate, writer.Deadline, s.Cooldown, kubernetes.GitVersion, knativeVersion(s.eventing.Modules.Eventing)),
		Machine: setting.Machine(), Commit: commit,
	}, err
}

// knativeVersion is in the name of the module's folder.
func knativeVersion(folder string) string {
	_, version, _ := strings.Cut(filepath.Base(folder), "@")
	return version
}

// measured are the paths that make a difference to the figures.
var measured = []string{"cmd", "pkg", "config", "go.mod", "test/bench", "test/e2e", "test/local", "test/knative"}
