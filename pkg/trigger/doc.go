// Package trigger notices that a StatefulSet is not what it should be, and says so with one event.
//
// It watches the opted-in sets, stripped of their templates, and the metadata of their pods, and compares the pods'
// own revision labels with the set's target ([Assess]). It never decides a step: an event asks the function to look.
// So everything here may be wrong, late, doubled or lost without harm to a cluster; what it must not do is fall
// silent about a set that needs somebody. Three rules follow:
//
//   - A request is repeated until it is acknowledged, and a set with something to do is asked about every few seconds
//     even then: a broker's 202 says that the broker has the event, not that the function saw it.
//   - An open set, and one with a step in flight, is asked about whatever else it is: halted, paused or blocked.
//   - A set with nothing to do costs no event at all. The sweep looks at the cache only.
//
// # How it works
//
// One key per set goes through a delaying work queue: changes, timers and sweeps all only put the key in, so a relist of
// everything is one look per set, and a look without something new sends nothing. [Trigger.Look] observes the set
// (observe), decides once (plan), does the one thing that is due, and settles the record by the answer (settle, pend).
// These functions are pure, as are [Assess] and the fleet limit (mayStart); the clock and the sink are given.
//
//	change, timer, sweep -> queue -> Look: observe -> plan -> rest
//	                                                       -> admit (fleet) -> POST -> settle -> look again at ...
//
// Memory is lost with the process. Then every set that needs somebody is asked about once more, and no other.
//
// # Intervals (see [Cadence])
//
// Active 5 s and on change; blocked, and halted but mended, 2 s, growing by half to 60 s, from the start again on
// change; halted and paused on change only; continuations at their notbefore, which counts as the heartbeat;
// a set that waits for its turn in the fleet is called when a place is free, and asks every minute besides;
// unacknowledged 0.5 s doubling to 10 s or as Retry-After says; refused like blocked; sweep 5 min. An active set about
// which the function itself has said four times that there is nothing to do is asked about ever more slowly.
//
// # Silent watches
//
// Besides client-go's HTTP/2 pings, a [Watchdog] lists on its own clock and compares. A cache that does not catch up
// fails /healthz. Where a proxy or an old API server never ends the initial list of a watch, the caches do not fill and
// the process exits after 30 s with one line; KUBE_FEATURE_WatchListClient=false in its environment is the way out.
package trigger
