package trigger

import "runtime/debug"

// garbage is how much of it, in percent of what is alive, may lie about before it is collected. The usual 100 doubles
// the memory of a process that holds much and makes little garbage, which this one is: a fifth costs a collection of some
// milliseconds every few seconds while sets roll, and none to speak of while they do not.
const garbage = 20

// tuneCollector leaves an operator's own GOGC alone. The soft limit of GOMEMLIMIT counts besides.
func tuneCollector(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}

// giveBack returns to the system what filling the caches has left behind.
func giveBack() { debug.FreeOSMemory() }
