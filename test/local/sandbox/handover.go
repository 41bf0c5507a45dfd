package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/etcdroll/etcdroll/test/local/inside"
)

// conversation carries the setup to container-init and its complaint back. The
// answering pipe closes by itself when the container's program is executed.
type conversation struct{ setupR, setupW, answerR, answerW *os.File }

func newConversation() (*conversation, error) {
	c := &conversation{}
	var err error
	if c.setupR, c.setupW, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.answerR, c.answerW, err = os.Pipe(); err != nil {
		_, _ = c.setupR.Close(), c.setupW.Close()
		return nil, err
	}
	return c, nil
}

func (c *conversation) childFiles() []*os.File { return []*os.File{c.setupR, c.answerW} }

func (c *conversation) abandon() {
	for _, f := range []*os.File{c.setupR, c.setupW, c.answerR, c.answerW} {
		_ = f.Close()
	}
}

func (c *conversation) handOver(s inside.Setup) string {
	_, _ = c.setupR.Close(), c.answerW.Close()
	sent := json.NewEncoder(c.setupW).Encode(s)
	_ = c.setupW.Close()
	answer, err := io.ReadAll(c.answerR)
	_ = c.answerR.Close()
	if failure := strings.TrimSpace(string(answer)); failure != "" {
		return failure
	}
	if err := errors.Join(sent, err); err != nil {
		return "talking to " + inside.Command + ": " + err.Error()
	}
	return ""
}

type startRequest struct {
	cmd    *exec.Cmd
	result chan error
}

var starts = make(chan startRequest)

// The kernel sends the parent-death signal when the starting thread ends, not
// the process, so all containers start on one thread that lives for ever.
func init() {
	go func() {
		runtime.LockOSThread()
		for r := range starts {
			r.result <- r.cmd.Start()
		}
	}()
}

func startOnSpawner(cmd *exec.Cmd) error {
	r := startRequest{cmd: cmd, result: make(chan error, 1)}
	starts <- r
	return <-r.result
}
