package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage pile up: walks make much of it and keep nothing.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
