package differential

import (
	"math/bits"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// decision is the model, or one of its mutants.
type decision func(*statefulset.Input) statefulset.Plan

// outcomeOfModel says what a sync of the model comes to.
func outcomeOfModel(decide decision, in statefulset.Input, old statefulset.Status) outcome {
	plan := decide(&in)
	o := outcome{Creates: plan.Creates, Status: plan.Status, Writes: plan.Status.Differs(old)}
	for i, why := range plan.Deletes {
		o.Deletes[i] = bits.OnesCount8(uint8(why))
	}
	return o
}
