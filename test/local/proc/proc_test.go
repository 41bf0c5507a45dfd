package proc

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the program that is started.
func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_WAIT") != "" {
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

func startOne(t *testing.T) (Record, string) {
	t.Helper()
	t.Setenv("PROC_TEST_WAIT", "yes")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, ended, err := (Command{Name: "waiter", Path: self, Log: filepath.Join(dir, "log"), Dir: dir}).Start(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Stop(0)
		<-ended
	})
	return r, dir
}

func TestRecordSurvivesItsFileAndEndsItsProcess(t *testing.T) {
	r, dir := startOne(t)
	read, err := Read(dir, "waiter")
	if err != nil || read != r || !read.Alive() {
		t.Fatalf("read %+v, %v; want the living %+v", read, err, r)
	}
	if err := read.Stop(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if read.Alive() {
		t.Error("alive after Stop")
	}
	if err := read.Signal(unix.SIGTERM); err != unix.ESRCH {
		t.Errorf("signalling a dead process: %v", err)
	}
}

func TestAProcessThatOnlySharesThePIDIsLeftAlone(t *testing.T) {
	r, _ := startOne(t)
	for name, other := range map[string]Record{
		"another start time": {Name: r.Name, PID: r.PID, StartTicks: r.StartTicks + 1, Exe: r.Exe},
		"another program":    {Name: r.Name, PID: r.PID, StartTicks: r.StartTicks, Exe: "/bin/other"},
		"no pid":             {Name: r.Name},
		"init":               {Name: r.Name, PID: 1, StartTicks: r.StartTicks, Exe: r.Exe},
	} {
		if other.Alive() {
			t.Errorf("%s: counts as alive", name)
		}
		if err := other.Stop(0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !r.Alive() {
		t.Error("the process was ended through a record that is not its own")
	}
}

func TestMissingRecordIsNotAlive(t *testing.T) {
	r, err := Read(t.TempDir(), "nobody")
	if err != nil || r.Alive() {
		t.Errorf("%+v, %v", r, err)
	}
}
