// Package etcdprobe asks the members of an etcd cluster how they are, and asks
// a leader to hand over. It is the only place that speaks to etcd.
//
// Every member is asked over a connection of its own that leads to that one
// address: no balancer that could answer for another member, no endpoint taken
// from what the cluster advertises, no retry behind the caller's back, and no
// connection that outlives the call. Certificates and passwords are therefore
// read anew each time, and a call that must reach one member reaches that one
// or nobody.
//
// The order of a probe carries its meaning. Progress is compared with the
// leader's commit index read first, and who leads is asked last, from
// everyone: a decision to take a member down rests on the newest answer.
package etcdprobe
