// Package roll decides the next step of a rolling restart of an etcd cluster
// that runs as a StatefulSet. Next is a pure total function from one live
// observation to one decision; it holds no context, clock, logger, client or
// randomness. Everything that acts is elsewhere.
//
// # The states
//
//	                +--------------------------------------------------+
//	                v                                                  |
//	locked ---- gates open, victim follows ----> open, victim armed    |
//	  |  ^                                        |            |       |
//	  |  |   10 s unacted, gate closed, drift     |            |       |
//	  |  +----------------------------------------+            |       |
//	  |  |                                    controller deletes       |
//	  |  |                                                     v       |
//	  |  |          new pod object exists             open, pod away   |
//	  |  +-----------------------------------------------------+       |
//	  |  |                                                     |       |
//	  |  |                deadline passed: lock + halt         |       |
//	  |  |                                                     v       |
//	  |  +--- resume or new template ---------------------- halted     |
//	  |                                                                |
//	  +-- victim leads: announce, move leader, stay locked             |
//	  +-- pod starting, unhealthy or soaking: wait, stay locked -------+
//	  +-- all on target, healthy, soaked, promoted: converged
//
// # Invariants, and why they hold
//
// I1, at most one voter is down because of us. A pod is given up in one place
// only (view.take). There every gate has passed: all other pods are Ready, all
// other members answer, read through a quorum and have caught up, and a quorum
// remains without the victim. The set is locked at that moment, so nothing
// released earlier is still pending; the write carries the resourceVersion of
// the observation, so of two functions that saw this state one wins. It fences
// the set and not its pods, so the caller reads the other pods once more right
// before the write and drops a decision that an eviction has overtaken. The next
// one sees a set that is open, and an open set leads to nothing but waiting,
// locking, or repeating the delete of the very pod that was announced.
//
// I2, a leading member is never given up. take is reached only behind
// moveFirst, which returns unless the leader is known and is not the victim.
// The members are asked who leads as the last reading before the write. If
// leadership drifts onto the victim before the controller has acted, the next
// look takes the release back (notActedUpon).
//
// I3, only one pod can be replaced while the set is open. Released is the
// highest outdated index, so no other outdated pod has an index at or above
// the partition. The set is locked as soon as the successor exists. Between
// the two, OrderedReady keeps the controller still until the successor is
// Ready; a template change in that window is the one way a second pod could
// go, and the admission policy in config/components closes it.
//
// I4, nothing depends on how often, in which order or whether events arrive.
// An event only asks for a look. The sequence number makes all but one of
// several chains die at the next step.
//
// I5, with faults over, every state converges or halts with a reason: each
// step either reduces the number of outdated pods, or uses up an attempt, or
// waits for something with a deadline, or reports a closed gate.
//
// I6, caution is monotone: a reading that is unknown or worse closes gates
// and never opens one.
//
// I7, the same state gives the same decision. Lists are judged as sets; maps
// are never ranged over to decide.
//
// I8, converged is written by markConverged alone, behind openSet (so the set
// is locked) and behind every health gate.
//
// I9, moves are minimal: only a victim's member hands over, and it hands over
// to a pod that is on target if there is one, which never has to again.
//
// I10, an idle set costs nothing: alreadyConverged asks no member and writes
// nothing.
package roll
