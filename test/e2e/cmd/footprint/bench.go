package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
)

const (
	formsWithin = 3 * time.Minute
	rollsWithin = 5 * time.Minute
	memoryBar   = "< 40 MiB"
)

// bench is one installation that rolls first one set, then has three.
type bench struct {
	cluster  *cluster.Cluster
	programs product.Programs
	endings  []func()

	place             *product.Place
	function, trigger *product.Part
	first             *etcdset.Set
	watching          *observer.Observer
}

func (b *bench) end() {
	for i := len(b.endings) - 1; i >= 0; i-- {
		b.endings[i]()
	}
}

// oneRoll rolls a set of three from one minor to the next.
func (b *bench) oneRoll(ctx context.Context) ([]figure, error) {
	namespace, remove, err := b.cluster.Namespace(ctx, "footprint")
	if err != nil {
		return nil, err
	}
	b.endings = append(b.endings, remove)
	if err := b.install(ctx, namespace); err != nil {
		return nil, err
	}
	if b.first, b.watching, err = b.set(ctx, namespace, "etcd"); err != nil {
		return nil, err
	}
	if err := b.first.LeadWith(ctx, 2); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := b.first.Apply(ctx, etcdset.Template(etcdset.ToVersion("3.7.3"))); err != nil {
		return nil, err
	}
	if err := b.watching.Until(ctx, rollsWithin, "the roll has not ended", rolledTo("3.7.3")); err != nil {
		return nil, err
	}
	peak, err := memory(b.function.PID(), "VmHWM")
	if err != nil {
		return nil, err
	}
	figures := []figure{{"roll-fn: peak resident memory over a roll", peak, memoryBar}}
	entries, err := audit.Between(b.cluster.AuditLog, began, time.Now(), cluster.UserOf(namespace, product.FunctionAccount))
	if err != nil {
		return nil, err
	}
	return append(figures, reads(entries)...), nil
}

// rolledTo says that the set has converged on the version. It was created at
// another one.
func rolledTo(version string) func(observer.View) bool {
	return func(v observer.View) bool {
		return v.Settled() && v.Set.Generation > 1 && v.Pods[0].Image == etcdset.Image(version)
	}
}

func (b *bench) install(ctx context.Context, namespace string, secrets ...string) error {
	var err error
	if b.place, err = product.Install(ctx, b.cluster, b.programs, namespace, false, secrets...); err != nil {
		return err
	}
	if b.function, err = b.place.Function(); err != nil {
		return err
	}
	b.endings = append(b.endings, b.function.Stop)
	if b.trigger, err = b.place.Trigger(b.function.URL); err != nil {
		return err
	}
	b.endings = append(b.endings, b.trigger.Stop)
	return nil
}

// set creates a set and waits until the product has marked it.
func (b *bench) set(ctx context.Context, namespace, name string) (*etcdset.Set, *observer.Observer, error) {
	s, err := etcdset.Create(ctx, b.cluster.Client, etcdset.Options{Namespace: namespace, Name: name, Config: etcdset.Quick()})
	if err != nil {
		return nil, nil, err
	}
	o, err := observer.Start(ctx, b.cluster.Client, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	b.endings = append(b.endings, o.Stop)
	return s, o, o.Until(ctx, formsWithin, "the set was not taken in charge", observer.View.Settled)
}

// threeSets adds two sets and looks at the trigger.
func (b *bench) threeSets(ctx context.Context) ([]figure, error) {
	for _, name := range []string{"etcd-b", "etcd-c"} {
		if _, _, err := b.set(ctx, b.place.Namespace, name); err != nil {
			return nil, err
		}
	}
	var figures []figure
	for field, what := range map[string]string{"VmRSS": "trigger: resident memory at three sets", "VmHWM": "trigger: its peak until then"} {
		size, err := memory(b.trigger.PID(), field)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{what, size, memoryBar})
	}
	return figures, nil
}

// memory reads one figure of a process from the kernel.
func memory(pid int, field string) (string, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kib float64
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && name == field {
			if _, err := fmt.Sscanf(strings.TrimSpace(value), "%f kB", &kib); err != nil {
				return "", err
			}
			return fmt.Sprintf("%.1f MiB", kib/1024), nil
		}
	}
	return "", fmt.Errorf("the kernel does not tell %s", field)
}
