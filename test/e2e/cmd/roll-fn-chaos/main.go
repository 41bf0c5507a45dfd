// Command roll-fn-chaos is the function with one difference: it kills itself
// with SIGKILL at the checkpoints that its environment names.
//
//	ETCDROLL_CHAOS_AT     name of the checkpoint
//	ETCDROLL_CHAOS_EVERY  "odd" or "even": at which of its passes
//	ETCDROLL_CHAOS_FILE   where passes are counted, so that the count outlives us
//	ETCDROLL_CHAOS_ARMED  a file that may name a checkpoint at any time: the next
//	                      pass of it removes the file and is the last
package main

import (
	"os"
	"sync"
	"syscall"

	"github.com/etcdroll/etcdroll/pkg/fn/serve"
)

func main() {
	c := counter{at: os.Getenv("ETCDROLL_CHAOS_AT"), file: os.Getenv("ETCDROLL_CHAOS_FILE"), odd: os.Getenv("ETCDROLL_CHAOS_EVERY") != "even"}
	armed := os.Getenv("ETCDROLL_CHAOS_ARMED")
	os.Exit(serve.Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr, func(name string) {
		if armed != "" {
			dieIfArmed(armed, name)
		}
		c.pass(name)
	}))
}

// dieIfArmed dies at most once for each time the file is written: whoever
// removes it is the one.
func dieIfArmed(file, name string) {
	if want, err := os.ReadFile(file); err != nil || string(want) != name || os.Remove(file) != nil {
		return
	}
	die()
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // nothing else happens before the signal arrives
}

type counter struct {
	at, file string
	odd      bool
	mu       sync.Mutex
}

// pass counts in a file: one byte for each pass. What was written before a
// SIGKILL is in the file, synced or not.
func (c *counter) pass(name string) {
	if name != c.at {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		panic(err) // a test that does not count would prove nothing
	}
	if _, err := file.WriteString("."); err != nil {
		panic(err)
	}
	info, err := file.Stat()
	if err != nil {
		panic(err)
	}
	if (info.Size()%2 == 1) == c.odd {
		die()
	}
	_ = file.Close()
}
