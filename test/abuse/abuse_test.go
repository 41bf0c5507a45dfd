// Package abuse fires hostile requests at the running function: it must take
// no step, keep its memory, write whole log lines, and go on answering.
package abuse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

var (
	requests = flag.Int("requests", 10_000, "how many hostile requests are sent")
	seed     = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the requests")
)

const (
	senders   = 16
	memoryMax = 64 << 20 // bytes; the container's limit is twice that
)

// function is the running program.
type function struct {
	*child.Process
	address, log string
}

func start(t *testing.T, api *apiServer) function {
	t.Helper()
	dir := t.TempDir()
	programs, err := product.Build(t.Context(), dir, "roll-fn")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"` + api.URL + `"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := function{log: filepath.Join(dir, "log"), address: freeAddress(t)}
	f.Process, err = child.Start(child.Command{Name: "roll-fn", Path: programs.Function, Log: f.log,
		Args: []string{"--namespaces=db", "--listen=" + f.address, "--kubeconfig=" + kubeconfig, "--log-level=DEBUG"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Stop(5 * time.Second) })
	for end := time.Now().Add(20 * time.Second); !f.ready(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not ready in 20 s: %s", f.Tail(5))
		}
	}
	return f
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (f function) ready() bool {
	answer, err := http.Get("http://" + f.address + "/readyz")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// resume is an honest request; the status is the function's answer.
func (f function) resume(t *testing.T, id string) int {
	t.Helper()
	e := events.NewResume(events.Target{Namespace: "db", Name: "etcd"}, id, time.Now())
	body, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post("http://"+f.address, "application/cloudevents+json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// peak is the most memory that the process has had resident, in bytes.
func (f function) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(f.PID()) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(status), "VmHWM:")
	if !found {
		t.Fatal("no peak in the status of the process")
	}
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// send writes raw bytes and reads what comes back, which may be nothing.
func (f function) send(raw []byte) (status int, err error) {
	c, err := net.DialTimeout("tcp", f.address, 5*time.Second)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = c.Write(raw) // the server may have refused before all was sent
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil //nolint:nilerr // no answer is an answer to noise
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, nil
}

func TestHostileRequestsTakeNoStep(t *testing.T) {
	t.Logf("seed %d; replay with -seed=%d", *seed, *seed)
	api := newAPIServer(t)
	f := start(t, api)
	answers := bombard(t, f)
	t.Logf("answers by status (0: the connection was closed): %v; peak %d KiB", answers, f.peak(t)>>10)
	if writes := api.written(); len(writes) > 0 {
		t.Errorf("%d writes, the first is %s", len(writes), writes[0])
	}
	for _, path := range api.strangePaths() {
		t.Errorf("it was made to read %s", path)
	}
	if answers[http.StatusInternalServerError] > 0 {
		t.Errorf("%d times it did not know what to answer", answers[http.StatusInternalServerError])
	}
	if !f.Alive() || !f.ready() {
		t.Errorf("it does not answer any more: %s", f.Tail(20))
	}
	if peak := f.peak(t); peak > memoryMax {
		t.Errorf("it took %d MiB", peak>>20)
	}
	wholeLines(t, f.log)
	// The same function does act on a request that may ask for it.
	f.resume(t, haltID)
	if writes := api.written(); len(writes) == 0 || writes[0] != "PATCH /apis/apps/v1/namespaces/db/statefulsets/etcd" {
		t.Errorf("an honest resume led to the writes %v", writes)
	}
}

func bombard(t *testing.T, f function) map[int]int {
	t.Helper()
	var (
		wait    sync.WaitGroup
		next    atomic.Int64
		mu      sync.Mutex
		answers = map[int]int{}
	)
	for range senders {
		wait.Go(func() {
			for i := next.Add(1); i <= int64(*requests); i = next.Add(1) {
				status, err := f.send(hostile(rand.New(rand.NewPCG(*seed, uint64(i)))))
				if err != nil {
					t.Errorf("request %d: %v", i, err)
					return
				}
				mu.Lock()
				answers[status]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return answers
}

// wholeLines checks that nobody can write a log line of their own making, and
// that no secret is in any.
func wholeLines(t *testing.T, file string) {
	t.Helper()
	log, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(log) == 0 {
		t.Fatal("nothing was logged")
	}
	if bytes.Contains(log, []byte(password)) {
		t.Error("the password is in the log")
	}
	for line := range bytes.Lines(log) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal(line, &entry); err != nil || entry.Level == "" || entry.Msg == "forged" {
			t.Fatalf("not a line of ours (%v): %.200q", err, line)
		}
		if len(line) > 4096 {
			t.Fatalf("a line of %d bytes: %.200q", len(line), line)
		}
	}
}

// Connections that send a header byte by byte are closed, and hold up nobody.
func TestSlowSendersAreCutOff(t *testing.T) {
	f := start(t, newAPIServer(t))
	var wait sync.WaitGroup
	begin := time.Now()
	for i := range 200 {
		wait.Go(func() {
			c, err := net.Dial("tcp", f.address)
			if err != nil {
				t.Errorf("connection %d: %v", i, err)
				return
			}
			defer func() { _ = c.Close() }()
			fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nX: ")
			for time.Since(begin) < 20*time.Second {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
				_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				if _, err := c.Read(make([]byte, 1)); err == io.EOF {
					return
				}
			}
			t.Errorf("connection %d was still open after 20 s", i)
		})
	}
	if status := f.resume(t, "halt-6"); status != http.StatusOK || time.Since(begin) > 5*time.Second {
		t.Errorf("an honest request was answered %d after %s", status, time.Since(begin))
	}
	wait.Wait()
}
