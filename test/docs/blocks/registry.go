package blocks

// Proof says what stands behind a block of commands. Exactly one of Run, Test
// and Not is set.
type Proof struct {
	// Run: test/gitops runs the block as it stands, with etcd for NAME.
	Run bool
	// Test is the test that runs it, as "folder/file_test.go: TestName". Shows is
	// text of that file by which it can be told that it runs these commands; empty
	// means every line of the block.
	Test  string
	Shows []string
	// Not is why nobody runs it here.
	Not string
}

const (
	plugin  = "test/e2e/plugin_test.go: TestThePluginShowsAndSteersARoll"
	install = "test/config/install_test.go: TestThreeCommandsInstallAndRoll"
)

// Registry has the proof of every block, by its name.
var Registry = map[string]Proof{
	"README.md | Try it | make demo    # a real control plane, a real etcd, a rolling upgrade; then the native rolling update beside it": {
		Not: "one is the tests themselves, and the other has tests of its own in test/demo; CI runs make test"},
	"README.md | How it works | guard -> (move the leader, if the victim leads) -> release (partition = i) -> successor exists -> lock -> healthy -> soaked -> next": {
		Not: "no command"},
	"README.md | Install | kubectl apply -k config/sample      # a namespace with three members of etcd 3.6, opted in and locked": {
		Test: install, Shows: []string{`"\n## Install\n"`, `"README.md"`}},
	"README.md | Use it on your own set | kubectl label statefulset etcd etcdroll.dev/managed=true":                                                                 {Run: true},
	"README.md | Wait for it | kubectl annotate statefulset etcd etcdroll.dev/release=v42 --overwrite      # in the same apply as the template change, or after it": {Run: true},
	"README.md | Wait for it | pulumi.com/waitFor: \"jsonpath={.metadata[?@['etcdroll.dev/converged-revision'] && @['etcdroll.dev/converged-revision'] == $.status.updateRevision]}\"": {
		Test: "test/waits/waits_test.go: TestPU02_PU03_PU04_PulumiWaitsForTheRevision", Shows: []string{"pulumi.com/waitFor:", "README.md"}},

	"config/README.md | Several namespaces | namespace: etcdroll": {Not: "a kustomization and no command; test/config builds installations of several namespaces from the same parts"},
	"config/README.md | Several namespaces | namespace: team-a":   {Not: "a kustomization and no command; test/config builds installations of several namespaces from the same parts"},

	"docs/chaos.md | Chaos | make chaos ROUNDS=100 SEED=1": {
		Not: "hours of rolls; what plans, judges and cuts in it has tests of its own in test/chaos"},
	"docs/chaos.md | When a round fails | go run ./test/chaos -seed 1 -round 7": {Not: "the same program for one round"},

	"docs/gitops.md | kubectl | kubectl annotate statefulset NAME etcdroll.dev/release=v42 --overwrite":                                                     {Run: true},
	"docs/gitops.md | kubectl | kubectl etcdroll wait NAME --timeout=30m":                                                                                   {Run: true},
	"docs/gitops.md | Argo CD | kubectl -n argocd patch configmap argocd-cm --type=merge --patch-file=config/gitops/argocd/argocd-cm.yaml":                  {Run: true},
	"docs/gitops.md | Helm | make image         # OCI layouts in dist/":                                                                                     {Not: "compiles for two platforms, and pushes to a registry"},
	"docs/knative.md | Install the broker topology | kubectl apply -k config/sample      # a namespace with three members of etcd 3.6, opted in and locked": {Not: "Knative Serving does not run here; test/knative applies config/broker to a real API server and rolls through the real Eventing"},
	"docs/knative.md | Resume a halted set by an event | HALT=$(kubectl -n \"$NS\" get statefulset \"$SET\" -o jsonpath='{.metadata.annotations.etcdroll\\.dev/halt-id}')": {
		Test: "test/knative/edges_test.go: TestAHaltIsResumedThroughTheBroker", Shows: []string{"documented(t, \"curl \")"}},

	"docs/kubectl.md | kubectl etcdroll | go build -o ~/bin/kubectl-etcdroll ./cmd/kubectl-etcdroll        # anywhere on your PATH": {
		Test: plugin, Shows: []string{`"./cmd/kubectl-etcdroll"`}},
	"docs/kubectl.md | status | $ kubectl etcdroll status -A":                                                                                                                 {Test: plugin, Shows: []string{`"status", "--all-namespaces"`, `"status", "etcd"`}},
	"docs/kubectl.md | plan | $ kubectl etcdroll plan etcd -n demo-ztwvx":                                                                                                     {Test: plugin, Shows: []string{`"plan", "etcd"`}},
	"docs/kubectl.md | wait | $ kubectl etcdroll wait etcd -n demo-b9fww --timeout=30m":                                                                                       {Test: plugin, Shows: []string{`"wait", "etcd", "--timeout=`}},
	"docs/kubectl.md | pause, resume | $ kubectl etcdroll pause etcd -n demo-ztwvx":                                                                                           {Test: plugin, Shows: []string{`"pause", "etcd"`, `"resume", "etcd"`}},
	"docs/kubectl.md | history | $ kubectl etcdroll history etcd -n demo-ztwvx":                                                                                               {Test: plugin, Shows: []string{`"history", "etcd"`}},
	"docs/kubectl.md | explain | $ kubectl etcdroll explain unsched":                                                                                                          {Test: "test/gitops/commands_test.go: TestCommandsOfTheDocuments", Shows: []string{"kubectl etcdroll explain unsched", "kubectl etcdroll explain Soaked"}},
	"docs/kubectl.md | adopt | $ kubectl etcdroll adopt etcd -n demo-plmbc --dry-run=server":                                                                                  {Test: plugin, Shows: []string{`"adopt", "etcd", "--dry-run=server"`}},
	".github/ISSUE_TEMPLATE/problem.md |  | kubectl etcdroll status NAME":                                                                                                     {Run: true},
	"docs/operations.md | Hold everything | kubectl annotate statefulset -l etcdroll.dev/managed=true etcdroll.dev/paused=true --overwrite":                                   {Run: true},
	"docs/operations.md | Upgrade etcdroll | kubectl etcdroll pause NAME":                                                                                                     {Run: true},
	"docs/operations.md | Take a set out, uninstall | kubectl etcdroll pause NAME":                                                                                            {Run: true},
	"docs/operations.md | Take a set out, uninstall | kubectl patch statefulset NAME --type=merge -p '{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":0}}}}'": {Run: true},
	"docs/operations.md | Take a set out, uninstall | kubectl delete -k config/direct --ignore-not-found":                                                                     {Run: true},
	"docs/operations.md | See what is going on | kubectl get statefulset -A -l etcdroll.dev/managed=true -o custom-columns='NAMESPACE:.metadata.namespace,NAME:.metadata.name,PHASE:.metadata.annotations.etcdroll\\.dev/phase,REASON:.metadata.annotations.etcdroll\\.dev/reason,PARTITION:.spec.updateStrategy.rollingUpdate.partition,REPLICAS:.spec.replicas'": {Run: true},
	"docs/pulumi.md | What a timeout means | kubectl etcdroll status etcd": {Run: true},
	"docs/pulumi.md | Interrupted | pulumi cancel --yes --stack=dev": {
		Test: "test/pulumi/interrupted_test.go: TestAnInterruptedUpdateResumes", Shows: []string{`"pulumi", "cancel", "--yes", "--stack=dev"`}},
	"docs/pulumi.md | Pulumi | cd pulumi && npm ci --ignore-scripts && npm pack": {Not: "asks the npm registry; `make test-npm` builds and tests the package"},
	"docs/runbooks.md | Runbooks | kubectl get statefulset NAME -o jsonpath='{.metadata.annotations.etcdroll\\.dev/phase} {.metadata.annotations.etcdroll\\.dev/reason}{\"\\n\"}{.metadata.annotations.etcdroll\\.dev/message}{\"\\n\"}'": {Run: true},

	"docs/migration.md | Step by step | cat > config.yaml <<'EOF'":                                                                                                     {Run: true},
	"docs/migration.md | Step by step | kubectl etcdroll adopt NAME --config-file=config.yaml --dry-run=server":                                                        {Run: true},
	"docs/migration.md | Step by step | kubectl etcdroll adopt NAME --config-file=config.yaml":                                                                         {Run: true},
	"docs/migration.md | Step by step | kubectl patch statefulset NAME --type=merge -p '{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"tried\":\"1\"}}}}}'": {Run: true},
	"docs/migration.md | Going back | kubectl etcdroll pause NAME":                                                                                                     {Run: true},
}
