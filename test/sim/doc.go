// Package sim walks at random through a model of the world in which the
// decisions of pkg/fn/roll are carried out, and judges after every quarter of
// a second of simulated time whether the invariants still hold. Nothing here
// waits, and nothing is drawn but from the seed of the walk.
//
// # The world
//
// The package statefulset is what the StatefulSet controller decides: both
// policies, with and without the budget of unavailable pods, OnDelete;
// test/differential holds it against the controller's own code. controller.go
// lets it work from caches that lag, stop, and stall between deciding, acting
// and writing its status. kubelet.go starts and ends pods at
// a random pace; a revision may be broken in one of five ways, and Ready may
// say nothing about the member. etcd.go has leadership, terms, commit and lag;
// leadership drifts, moves fail or succeed late. weather.go evicts pods, loses
// nodes and brings on odd conditions. channel.go drops, doubles, delays and
// reorders events. humans.go changes the template, pauses, resumes, and writes
// the partition as a careless person or a tool with a repository would, with
// or without the admission policy. function.go is up to three functions whose
// steps interleave with all that: each may be held up or killed between any
// two of its reads, its write and its call; its reads may be out of the past;
// the answer to a write that was applied may be lost.
//
// # What is judged
//
// The invariants are judged from what the model knows to be true and never by
// asking the product.
//
//   - I1: no two members are down because of us at any time. A member is, from
//     the moment its pod is deleted by us, or by the controller at or above a
//     partition that we set, until its pod is Ready and it has caught up. At
//     the write that gives a pod up, all other members were well when asked.
//   - I2: no victim led when it was asked. Who saw a released victim lead has
//     locked the set in the same look.
//   - I3: between our opening write and the locking one the controller replaces
//     one pod. Nobody locks while that pod is away, but past the deadline.
//   - I5: when faults are over the set comes to rest within bounds that are
//     linear in its size, in ticks and writes (tail.go) and in events that a
//     function is given (liveness.go), converged, or standing still with a reason
//     that the truth bears out; then the remedy of the reason is followed, and
//     it converges.
//   - I8: converged is said of a set that is locked and whose pods were all on
//     target and Ready when they were read. I9: no move is called that was not
//     announced; where nothing goes wrong there is one move, or two, and no
//     election. I10: nothing is written to an idle set.
//
// I4 is what all of it runs under.
//
// # What no function can prevent
//
// Time passes between the last reading and what it leads to. What others do in
// that time is counted as drift and reported, not held against the product:
// leadership that comes to the victim, a member that fails by itself. Without
// the admission policy a template may change while the set is open; pods that
// the controller then replaces are counted as exceptions. With the policy
// there are none, and the simulation insists on that.
//
// # Assumptions about the caller
//
// The model makes the calls of pkg/fn in this order, and the invariants need
// it: the set is read before its pods; the victim is asked whether it leads
// last before the write; neither the write nor the call is made later than
// the call window after the reading of the set; a delete is for the pod with
// the UID that was observed, as long as its readiness has not changed. The
// clocks of API servers differ by less than half the call window.
//
// # Running it
//
//	go test ./test/sim                                    20,000 walks, and mutants that must be caught
//	SIM_WALKS=500 go test ./test/sim -run TestRandomWalks fewer
//	SIM_SEED=42 go test ./test/sim -run TestReplay -v     one walk with its timeline
//	make sim TICKS=10000000                               at scale
//	make test-differential                                the controller in it against the real one
//
// The report names the rules, reasons and gates that were met and how often;
// what is not met fails, unless reach.go says why it cannot be.
package sim
