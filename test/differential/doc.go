// Package differential holds the StatefulSet controller of the simulation
// (test/sim/statefulset) against the controller's own code, taken from
// k8s.io/kubernetes through the module proxy: the same states and the same
// scripts are given to both, and every pod creation with its revision, every
// deletion and the whole status must agree.
//
// The real side is all of the controller below its work queue: its decision,
// its pod control, its status updater and its revision history, on an API
// server that answers from memory. It is told what time it is.
//
// # What is left out of what is generated, and why
//
// Nothing is left out of the comparison. These never occur on either side:
//
//   - replicas that change, and so pods beyond the last ordinal: etcdroll does
//     not roll a set that is being scaled, and the simulation scales none;
//   - ordinals.start: the controller subtracts it everywhere, and so does the
//     product's own reading of the set, which has tests of its own;
//   - volume claims, and pods that need their identity or storage mended;
//   - RollingUpdate without its parameters, and OnDelete with them: the API
//     server defaults the one and refuses the other;
//   - maxUnavailable in percent or below 1, and the Recreate strategy: etcdroll
//     refuses what is not 1 (gate ShapeSupported);
//   - errors of the API server other than a status that cannot be written;
//   - names of revisions that collide, and history so long that it is cut.
package differential
