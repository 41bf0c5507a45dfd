// Package guard decides whether one member of an etcd cluster may be taken
// down now. It is a list of gates over a plain Snapshot: each gate is a small
// total function whose name is a sentence that is true when it passes.
//
// The package is pure: no context, clock, logger, client or randomness. What
// could not be read is the zero value, and a zero value never passes a hard
// gate. Making any reading unknown or worse therefore never opens a gate.
//
// All gates are always evaluated, so that a person sees every objection at
// once and not the first of a queue.
package guard
