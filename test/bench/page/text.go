package page

import (
	"fmt"
	"slices"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
)

const head = `# Benchmarks

<!-- Written by make bench; do not edit. All rows are in benchmarks/runs.csv. -->

One set of real etcd members is restarted again and again, in turns: by the StatefulSet controller alone, by scripts as
people write them, and by etcdroll. All variants roll the same members on the same control plane under the same writes,
each variant once before any of them a second time. Run i starts with leadership on index i modulo the number of
members. [Comparison](comparison.md) says in words when which is the better choice. In the tables: the median, and in
parentheses the least and the most.

`

const caption = `For each variant the run with the median of the longest write gaps. Grey: a pod on its way; red: the longest gap. A
bar reaches from the quickest to the slowest acknowledged write of a tenth of a second.
`

// inWords says in sentences what can be read off the table, whatever it is.
func inWords(runs []ledger.Run, variants []Variant, grace string) string {
	native := where(runs, variants, grace, func(v Variant) bool { return v.Name == "native" })
	direct := where(runs, variants, grace, func(v Variant) bool { return v.Etcdroll && !v.Broker })
	if len(native) == 0 || len(direct) == 0 {
		return ""
	}
	median := func(runs []ledger.Run, of func(ledger.Run) float64, digits int) string {
		return number(spreadOf(runs, of).Median, digits)
	}
	gap := func(r ledger.Run) float64 { return r.Gap.Seconds() }
	wall := func(r ledger.Run) float64 { return r.Wall.Seconds() }
	soaks := func(r ledger.Run) float64 { return (r.Soaks + r.Rests).Seconds() }
	return fmt.Sprintf("\nIn the median, the longest write gap is %s s with etcdroll (direct) and %s s with the native update with a probe. A roll takes %s s\n"+
		"and %s s; %s s of etcdroll's are soaks and rests, which the native update does not have.\n",
		median(direct, gap, 3), median(native, gap, 3), median(direct, wall, 1), median(native, wall, 1), median(direct, soaks, 1))
}

func where(runs []ledger.Run, variants []Variant, grace string, is func(Variant) bool) []ledger.Run {
	if i := slices.IndexFunc(variants, is); i >= 0 {
		return of(runs, variants[i].Name, grace)
	}
	return nil
}

const definitions = `
## What was done

**The change** is an environment variable that etcd ignores. It is the same etcd before and after. Every container has the same
small first process, which passes SIGTERM on to etcd, or, for *lost grace*, sends SIGKILL in its place at the same moment: the
member is gone without having handed anything over, as after a failure of its node or with a grace that has run out. A file in a
ConfigMap says which, so the template is the same for both, and both are the same for all variants. The Kubernetes
` + "`terminationGracePeriodSeconds`" + ` is 30 always.

**Native without probe**: the new template has no readiness probe, a pod is Ready as soon as its container runs. **Native with a
probe**: the probe asks the member's ` + "`/health?serializable=true`" + ` each second; so it is in all further variants.

**OnDelete**: a script finds the leader once, deletes the followers' pods from the highest index down, waits for each to run the
new revision and be Ready, and deletes the leader's pod last. It moves nothing and keeps no soak.

**Fixed choreography**: what a shell Job does, wherever leadership is: to pod 0; partition down one by one to 1; leadership to the
highest pod; partition 0; partition back to the number of replicas. After each pod it waits for Ready, then until every member
answers a linearizable read, then for the soak. Both scripts are played by the bench, step for step, with a second between
two looks (` + "`sleep 1`" + `); their requests are single GETs, PATCHes and DELETEs, where kubectl makes some more.

**etcdroll**: trigger and function as they are shipped, with the rights of config/rbac and a configuration that sets nothing but
the soak. *Direct*: the trigger posts to the function. *Through the broker*: config/broker and the real Knative Eventing
with its in-memory channel; there is no Knative Serving and hence no cold start in it.

**The soak** is the same for all variants that have one; its length stands at the top. It is short (the default of etcdroll is 30 s), so that
many runs fit into an hour. That is the harder case for the wall time: what is added to the floor is added to a small one.

## What is counted

- **Election**: a rise of the raft term, as seen by asking every member many times a second. It is *planned* if it makes just the
  member leader that a move was announced for, shortly after the announcement: by etcdroll in its record, by the choreography
  to the observer. Everything else is *unplanned*, also the hand-over that etcd makes by itself when it gets SIGTERM as the leader:
  it is short, and nobody asked for it or has looked whether the others are fit for it.
- **Fewest moves possible**: of a way down from the highest index two if leadership starts there, else one; leader last, one.
- **Write gap**: the longest time in which no write was acknowledged, from the change until one second after all was well.
- **Failed**: answered with an error, or not within the deadline. Each is tried once, by one client that knows all members, and
  counts in the percentile with the time until it was given up.
- **Fewer than all members**: from the first moment at which a member could not be reached until it answered again.
- **Wall time**: from the template change until the variant says that it has finished: the StatefulSet's current revision is the new
  one and all pods are Ready; the script returns; etcdroll marks the set converged, has locked it and given up its claim. *Until all
  members are well*: every pod is replaced, all members answer and agree on the leader. Without a probe the controller is done
  before its members are.
- **Floor**: the sum of the restarts, each from the moment a pod's deletion was seen until its successor was seen Ready, plus the
  configured soak once for each member, for the variants that have one, plus the rest after each leader move that etcdroll
  makes: it is the soak, but at most five seconds. The line below shows the ratio without these rests. etcdroll counts soaks and
  rests by stamps in whole seconds, each up to a second short: on the whole half of one, so that with a soak of few seconds
  a roll may take less than its floor.
- **API requests**: finished requests of the variant's own ServiceAccounts, by the API server's audit log, renewals of the trigger's
  Lease included. Nothing is counted for the StatefulSet controller, which works for all.
- **Processor time**: of trigger and function, as the kernel tells it, in hundredths of a second, with debug logs.

Nothing was left out: every run that has begun is a row. Everything runs on one machine, control plane, members, writer and observer
included; other disks and networks will give other times. ` + "`make bench`" + ` measures yours; it goes on where it was stopped.

## Columns of benchmarks/runs.csv

| column | meaning |
|---|---|
`
