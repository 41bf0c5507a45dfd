package product

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/child"
)

const (
	startsWithin = 30 * time.Second
	stopsWithin  = 15 * time.Second
)

// Part is one running part of the product. It can be killed and started again
// at the same address, or kept alive by somebody who restarts it.
type Part struct {
	URL string // where it listens

	command child.Command
	mu      sync.Mutex
	process *child.Process
	stopped bool
	lives   int
}

func newPart(name, path, logDir string, env []string, args ...string) (*Part, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p := &Part{URL: "http://" + address, command: child.Command{
		Name: name, Path: path, Env: env, Args: append(args, "--listen="+address),
		Log: filepath.Join(logDir, fmt.Sprintf("%s-%s.log", name, address[len("127.0.0.1:"):])),
	}}
	return p, p.Start()
}

// Log is the file with all that the part wrote.
func (p *Part) Log() string { return p.command.Log }

// Start runs the part and returns once it is ready.
func (p *Part) Start() error {
	if err := p.launch(); err != nil {
		return err
	}
	for deadline := time.Now().Add(startsWithin); ; {
		p.mu.Lock()
		process := p.process
		p.mu.Unlock()
		switch err := ready(p.URL); {
		case err == nil:
			return nil
		case !process.Alive():
			return fmt.Errorf("%s ended: %w\n%s", p.command.Name, process.Err(), process.Tail(10))
		case time.Now().After(deadline):
			return fmt.Errorf("%s is not ready within %s: %w\n%s", p.command.Name, startsWithin, err, process.Tail(10))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *Part) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return errStopped
	}
	process, err := child.Start(p.command)
	if err == nil {
		p.process, p.lives = process, p.lives+1
	}
	return err
}

var errStopped = errors.New("stopped")

// Kill ends the part with SIGKILL.
func (p *Part) Kill() { p.current().Kill() }

// Signal sends a signal to the present life, such as SIGSTOP to freeze it.
func (p *Part) Signal(s syscall.Signal) { p.current().Signal(s) }

// PID of the present life.
func (p *Part) PID() int { return p.current().PID() }

func (p *Part) current() *child.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

// Stop ends the part for good.
func (p *Part) Stop() {
	p.mu.Lock()
	p.stopped = true
	process := p.process
	p.mu.Unlock()
	if process != nil {
		process.Stop(stopsWithin)
	}
}

// Revive restarts the part whenever it ends, as a kubelet would, until Stop.
func (p *Part) Revive() {
	go func() {
		for {
			<-p.current().Done()
			if p.launch() != nil {
				return
			}
		}
	}()
}

// Deaths counts how often the part has ended.
func (p *Part) Deaths() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil && p.process.Alive() {
		return p.lives - 1
	}
	return p.lives
}

func ready(url string) error {
	response, err := (&http.Client{Timeout: time.Second}).Get(url + "/readyz")
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", response.Status)
	}
	return nil
}

// freeAddress is a loopback address whose port nobody has, below the range from
// which the kernel takes ports for outgoing connections. Somebody else could
// take it before the part does; then the part does not start and says so.
func freeAddress() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(10000)))
		if err != nil {
			continue
		}
		address := l.Addr().String()
		return address, l.Close()
	}
	return "", errors.New("no free loopback port found")
}
