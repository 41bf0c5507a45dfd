package differential

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage pile up: the controller makes much of it and keeps
// nothing.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
