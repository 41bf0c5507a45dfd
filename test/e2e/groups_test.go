package e2e

import (
	"testing"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
)

// Three groups of three in one namespace, each with another way in, rolled at
// the same time by one trigger and one function.
func TestThreeGroupsAtOnce(t *testing.T) {
	t.Parallel()
	http := emptyStage(t)
	tls := &stage{T: t, ctx: http.ctx, namespace: http.namespace}
	auth := &stage{T: t, ctx: http.ctx, namespace: http.namespace}
	groups := []*stage{http, tls, auth}
	http.createWith(named("etcd-http"))
	tls.createTLS(named("etcd-tls"))
	auth.createAuth(named("etcd-auth"))
	for _, g := range groups {
		g.formed()
	}
	auth.enableAuth()
	for _, g := range groups {
		g.writeWith(20)
	}
	http.secrets = append(tls.secrets, auth.secrets...) // one function for all three
	http.direct()
	for leader, g := range groups {
		g.settled()
		g.leaderAt(leader)
	}
	for _, g := range groups {
		g.start(etcdset.ToVersion("3.7.3"))
	}
	for leader, g := range groups {
		t.Log(g.set.Name)
		moves(t, g.happy(), []int{1, 1, 2}[leader])
		g.runs("3.7.3")
	}
}
