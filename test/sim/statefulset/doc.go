// Package statefulset says what the StatefulSet controller decides in one sync:
// which pods it creates and of which revision, which it deletes, and the status
// it writes. It is pure, so that the simulation can work with it and
// test/differential can hold it against the controller's own code.
//
// Modelled after updateStatefulSet and its successors in
// k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_control.go, v1.37.2.
//
// Left out: replicas that change (pods beyond the last ordinal), ordinals that
// do not start at 0, volume claims, the Recreate strategy, maxUnavailable in
// percent, and how a template becomes a revision: revisions are numbers here,
// and the same template makes the same one.
package statefulset
