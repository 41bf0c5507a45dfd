package differential

import (
	"fmt"
	"testing"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// scripts is how many scripts are played with the feature gate on, and off;
// each has about forty syncs.
const scripts = 400

// TestScripts: carried along by their own doings the two stay together.
func TestScripts(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("MaxUnavailableStatefulSet=%v", on), func(t *testing.T) {
			withGate(t, on)
			var met tallies
			onAllCores(scripts, func(k int) bool {
				s := randomScript(uint64(k), on)
				if s.run(statefulset.Decide, &met) == "" {
					return true
				}
				t.Errorf("seed %d: the two part ways\n%s", k, s.shrunk(statefulset.Decide).run(statefulset.Decide, nil))
				return false
			})
			met.report(t)
		})
	}
}
