// Package scale holds what only shows with many sets: that a fleet is not
// rolled all at once, that an outage of the API server calls nobody, and what
// the trigger costs.
//
// The API server and its etcd are the real ones, and so is the trigger. The
// StatefulSet controller, the kubelet and the function are played: packages
// fleet and function write what those would write, with the same field
// managers, so that a set rolls in a second and thousands fit on one machine.
package scale
