package writer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcdroll/etcdroll/test/e2e/access"
)

const (
	// Deadline is each write's own.
	Deadline = 5 * time.Second
	// Notable is the shortest time without any acknowledged write that is kept.
	Notable = 50 * time.Millisecond
)

// Writer puts distinct keys at a steady rate through one client that knows all
// members and chooses among them, as an application does. A write is tried
// once, with its own deadline; whatever the client makes of that is counted.
type Writer struct {
	prefix string
	client *clientv3.Client
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu       sync.Mutex
	sent     int
	acked    []int // numbers of the acknowledged writes
	last     time.Time
	gaps     []Gap
	failures []Failure
	slowest  time.Duration
	samples  []Sample
}

// Sample is one write: when it was sent, and how long until it was
// acknowledged or given up.
type Sample struct {
	At     time.Time
	Took   time.Duration
	Failed bool
}

// Gap is a time in which no write was acknowledged.
type Gap struct {
	From time.Time
	Took time.Duration
}

// Failure is a write that was not acknowledged.
type Failure struct {
	At  time.Time
	Err error
}

// Start begins to write at so many puts a second.
func Start(endpoints []string, perSecond int) (*Writer, error) {
	return StartWith(endpoints, perSecond, access.Access{})
}

// StartWith is Start for members that want certificates or users.
func StartWith(endpoints []string, perSecond int, members access.Access) (*Writer, error) {
	return StartNamed("", endpoints, perSecond, members)
}

// StartNamed is StartWith for one of several writers of a cluster, at once or
// after each other; each has keys of its own.
func StartNamed(name string, endpoints []string, perSecond int, members access.Access) (*Writer, error) {
	client, err := clientv3.New(members.Config(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(),
		DialTimeout: Deadline, DialKeepAliveTime: 2 * time.Second, DialKeepAliveTimeout: 2 * time.Second}))
	if err != nil {
		return nil, fmt.Errorf("start writer: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Writer{prefix: "/etcdroll-writer" + name + "/", client: client, cancel: cancel}
	w.wait.Go(func() { w.run(ctx, time.Second/time.Duration(perSecond)) })
	return w, nil
}

func (w *Writer) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.wait.Go(func() { w.put(n) })
		}
	}
}

func (w *Writer) put(n int) {
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	w.mu.Lock()
	w.sent++
	w.mu.Unlock()
	began := time.Now()
	_, err := w.client.Put(ctx, w.key(n), w.key(n))
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, Sample{At: began, Took: now.Sub(began), Failed: err != nil})
	if err != nil {
		w.failures = append(w.failures, Failure{At: began, Err: err})
		return
	}
	w.acked = append(w.acked, n)
	w.slowest = max(w.slowest, now.Sub(began))
	if quiet := now.Sub(w.last); !w.last.IsZero() && quiet > Notable {
		w.gaps = append(w.gaps, Gap{From: w.last, Took: quiet})
	}
	w.last = now
}

func (w *Writer) key(n int) string { return fmt.Sprintf("%s%09d", w.prefix, n) }

// Tally is what the writer met in a span of time.
type Tally struct {
	Sent, Acked, Failed int
	Longest             Gap
	Gaps                []Gap
	Slowest             time.Duration // of an acknowledged write
	Errors              map[string]int
}

// Tally sums up everything since from. Sent, Acked and Slowest count from the
// start.
func (w *Writer) Tally(from time.Time) Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := Tally{Sent: w.sent, Acked: len(w.acked), Slowest: w.slowest, Errors: map[string]int{}}
	for _, g := range w.gaps {
		if g.From.Before(from) {
			continue
		}
		t.Gaps = append(t.Gaps, g)
		if g.Took > t.Longest.Took {
			t.Longest = g
		}
	}
	for _, f := range w.failures {
		if !f.At.Before(from) {
			t.Failed++
			t.Errors[f.Err.Error()]++
		}
	}
	return t
}

// Samples are all writes sent since from that have come to an end.
func (w *Writer) Samples(from time.Time) []Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.samples), func(s Sample) bool { return s.At.Before(from) })
}

// Stop ends writing, waits for what is under way, and reads everything back: it
// is an error if a write that was acknowledged cannot be found.
func (w *Writer) Stop(ctx context.Context) error {
	w.cancel()
	w.wait.Wait()
	defer func() { _ = w.client.Close() }()
	found, err := w.readBack(ctx)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := slices.DeleteFunc(slices.Clone(w.acked), func(n int) bool { return found[w.key(n)] })
	if len(lost) > 0 {
		return fmt.Errorf("%d of %d acknowledged writes are lost, the first is number %d", len(lost), len(w.acked), lost[0])
	}
	return nil
}

// readBack reads through a quorum, in pages.
func (w *Writer) readBack(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	found, from := map[string]bool{}, w.prefix
	for {
		page, err := w.client.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(w.prefix)), clientv3.WithLimit(5000))
		if err != nil {
			return nil, err
		}
		for _, kv := range page.Kvs {
			found[string(kv.Key)] = string(kv.Key) == string(kv.Value)
			from = string(kv.Key) + "\x00"
		}
		if !page.More {
			return found, nil
		}
	}
}
