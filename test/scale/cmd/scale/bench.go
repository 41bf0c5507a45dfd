package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/cost"
	"github.com/etcdroll/etcdroll/test/scale/fleet"
	"github.com/etcdroll/etcdroll/test/scale/function"
)

// bench is one fleet under a trigger as it is shipped.
type bench struct {
	cluster  *cluster.Cluster
	programs product.Programs
	sets     int
	idle     time.Duration
	row      row

	place    *product.Place
	fleet    *fleet.Fleet
	function *function.Function
	trigger  *product.Part
	started  time.Time
	resting  float64 // processor seconds per second
}

func (b *bench) end() {
	if b.trigger != nil {
		b.trigger.Stop()
	}
	if b.function != nil {
		b.function.Stop()
	}
}

// start takes the time from exec until the trigger says that it is ready, which
// it is once its caches are filled.
func (b *bench) start(context.Context) error {
	var err error
	if b.function, err = function.Start(b.fleet); err != nil {
		return err
	}
	b.started = time.Now()
	b.trigger, err = b.place.Trigger(b.function.URL, "--log-level=info", "--resync-relist="+b.relistAfter().String())
	if err != nil {
		return err
	}
	b.row.seconds("start_s", time.Since(b.started))
	return b.memory("start")
}

// relistAfter is when the trigger compares its caches with a fresh list: not in
// the idle time, but soon after it.
func (b *bench) relistAfter() time.Duration { return max(time.Minute, b.idle+20*time.Second) }

func (b *bench) memory(when string) error {
	m, err := cost.MemoryOf(b.trigger.PID())
	if err != nil {
		return err
	}
	b.row["rss_"+when+"_mib"] = fmt.Sprintf("%.1f", float64(m.Now)/cost.MiB)
	b.row["peak_"+when+"_mib"] = fmt.Sprintf("%.1f", float64(m.Peak)/cost.MiB)
	return nil
}

// rest changes nothing for a while.
func (b *bench) rest(ctx context.Context) error {
	if err := b.settle(ctx); err != nil {
		return err
	}
	events, from := len(b.function.Events()), time.Now()
	used, err := b.over(ctx, b.idle)
	if err != nil {
		return err
	}
	b.resting = used.Seconds() / b.idle.Seconds()
	b.row.seconds("idle_s", b.idle)
	b.row["idle_cpu_percent"] = fmt.Sprintf("%.2f", 100*b.resting)
	b.row["idle_events"] = fmt.Sprint(len(b.function.Events()) - events)
	entries, err := audit.Between(b.cluster.AuditLog, from, time.Now(), b.place.TriggerUser())
	if err != nil {
		return err
	}
	writes, renewals := 0, 0
	for _, e := range entries {
		switch {
		case e.Write() && e.Object.Resource == "leases":
			renewals++
		case e.Write():
			writes++
		}
	}
	b.row["idle_writes"], b.row["idle_lease_renewals"] = fmt.Sprint(writes), fmt.Sprint(renewals)
	return b.memory("idle")
}

// settle waits until no event has come for a while.
func (b *bench) settle(ctx context.Context) error {
	return until(ctx, time.Minute, "events do not end", func() (bool, error) {
		events := b.function.Events()
		return len(events) == 0 || time.Since(events[len(events)-1].At) > 3*time.Second, b.function.Err()
	})
}

// over is the processor time that the trigger uses in d.
func (b *bench) over(ctx context.Context, d time.Duration) (time.Duration, error) {
	before, err := cost.Processor(b.trigger.PID())
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	after, err := cost.Processor(b.trigger.PID())
	return after - before, err
}

// relist takes what comparing the caches with fresh lists costs over resting.
func (b *bench) relist(ctx context.Context) error {
	window := time.Until(b.started.Add(b.relistAfter() + 15*time.Second))
	if window < 15*time.Second {
		return errors.New("the idle time ended too late to see it")
	}
	used, err := b.over(ctx, window)
	if err != nil {
		return err
	}
	b.row["relist_cpu_s"] = fmt.Sprintf("%.2f", max(0, used.Seconds()-b.resting*window.Seconds()))
	if err := b.watches(); err != nil {
		return err
	}
	return b.memory("relist")
}

// watches counts what the trigger has asked to watch so far, by resource.
func (b *bench) watches() error {
	entries, err := audit.Asked(b.cluster.AuditLog, b.place.TriggerUser())
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, e := range entries {
		if e.Verb == "watch" {
			count[e.Object.Resource]++
		}
	}
	b.row["watches_statefulsets"], b.row["watches_pods"] = fmt.Sprint(count["statefulsets"]), fmt.Sprint(count["pods"])
	delete(count, "statefulsets")
	delete(count, "pods")
	b.row["watches_other"] = fmt.Sprint(len(count))
	return nil
}

// scrape reads the metrics once, as a monitoring system does.
func (b *bench) scrape(context.Context) error {
	began := time.Now()
	response, err := http.Get(b.trigger.URL + "/metrics")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return err
	}
	b.row.seconds("scrape_s", time.Since(began))
	b.row["scrape_mib"] = fmt.Sprintf("%.1f", float64(n)/cost.MiB)
	return b.memory("scrape")
}

func until(ctx context.Context, within time.Duration, what string, ok func() (bool, error)) error {
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		switch is, err := ok(); {
		case err != nil:
			return err
		case is:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			return errors.New(what)
		}
	}
}

func percentile(sorted []time.Duration, p float64) string {
	at := min(len(sorted)-1, int(p*float64(len(sorted))))
	return fmt.Sprintf("%.0f", float64(sorted[at].Microseconds())/1000)
}
