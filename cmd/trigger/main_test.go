package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const asProgram = "ETCDROLL_TEST_RUN_AS_TRIGGER"

// TestMain lets the test binary be the program itself, so that exit codes and streams are the real ones.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = []string{asProgram + "=1", "HOME=" + t.TempDir()}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), problems.String()
}

func TestHelpGoesToStdoutAndSucceeds(t *testing.T) {
	code, stdout, stderr := program(t, "--help")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "--max-rolling") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestMistakesAreOneLineAndFail(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"wrong flag":          {[]string{"--wrong"}, 2, "-wrong"},
		"wrong sink":          {[]string{"--sink", "not a url"}, 2, "--sink"},
		"no cluster":          {[]string{"--sink", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"}, 1, "KUBECONFIG"},
		"no API server there": {[]string{"--sink", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig}, 1, "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := program(t, c.args...)
			if code != c.code || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, stdout %q, stderr:\n%s", code, stdout, stderr)
			}
		})
	}
}
