package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/test/e2e/access"
	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/cluster"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/cost"
)

// nineMembers rolls the largest set that is supported, with TLS, from one minor
// to the next. It has an installation of its own, so that the function's peak
// is of this set alone.
func nineMembers(ctx context.Context, c *cluster.Cluster, programs product.Programs) ([]figure, error) {
	b := &bench{cluster: c, programs: programs}
	defer b.end()
	namespace, remove, err := c.Namespace(ctx, "footprint-nine")
	if err != nil {
		return nil, err
	}
	b.endings = append(b.endings, remove)
	set, err := b.secureSet(ctx, etcdset.Options{Namespace: namespace, Name: "etcd", Replicas: 9, TLSSecret: "etcd-tls", Config: etcdset.Quick()})
	if err != nil {
		return nil, err
	}
	if err := b.install(ctx, namespace, set.TLSSecret); err != nil {
		return nil, err
	}
	if err := b.watching.Until(ctx, formsWithin, "the set was not taken in charge", observer.View.Settled); err != nil {
		return nil, err
	}
	if err := set.LeadWith(ctx, 8); err != nil {
		return nil, err
	}
	return b.secureRoll(ctx, set)
}

// secureSet creates the set, whose members want certificates, and watches it.
func (b *bench) secureSet(ctx context.Context, o etcdset.Options) (*etcdset.Set, error) {
	authority, err := access.NewAuthority("footprint CA")
	if err != nil {
		return nil, err
	}
	pair, err := authority.Issue(o.Name, o.HostNames()...)
	if err != nil {
		return nil, err
	}
	if o.Access.TLS, err = authority.Client(pair, o.HostNames()[0]); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.TLSSecret},
		Data: map[string][]byte{"ca.crt": authority.PEM, "tls.crt": pair.Cert, "tls.key": pair.Key}}
	if _, err := b.cluster.Client.CoreV1().Secrets(o.Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	set, err := etcdset.Create(ctx, b.cluster.Client, o)
	if err != nil {
		return nil, err
	}
	if b.watching, err = observer.StartWith(ctx, b.cluster.Client, o.Namespace, o.Name, o.Access); err != nil {
		return nil, err
	}
	b.endings = append(b.endings, b.watching.Stop)
	return set, nil
}

// secureRoll rolls the set and looks at what the function took for it.
func (b *bench) secureRoll(ctx context.Context, set *etcdset.Set) ([]figure, error) {
	began, mark := time.Now(), b.watching.Mark()
	before, err := cost.Processor(b.function.PID())
	if err != nil {
		return nil, err
	}
	if err := set.Apply(ctx, etcdset.Template(etcdset.ToVersion("3.7.3"))); err != nil {
		return nil, err
	}
	if err := b.watching.Until(ctx, rollsWithin, "the roll of nine has not ended", rolledTo("3.7.3")); err != nil {
		return nil, err
	}
	used, err := cost.Processor(b.function.PID())
	if err != nil {
		return nil, err
	}
	used -= before
	peak, err := memory(b.function.PID(), "VmHWM")
	if err != nil {
		return nil, err
	}
	report, err := b.watching.Report(mark)
	if err != nil {
		return nil, err
	}
	entries, err := audit.Between(b.cluster.AuditLog, began, time.Now(), b.place.FunctionUser())
	if err != nil {
		return nil, err
	}
	looks := 0
	for _, e := range entries {
		if kindOf(e) == sets {
			looks++
		}
	}
	return []figure{
		{"nine with TLS: roll-fn's peak resident memory", peak, memoryBar},
		{"nine with TLS: its processor time over the roll", millis(used), ""},
		{"nine with TLS: of that, for each look", millis(used / time.Duration(max(1, looks))), ""},
		{"nine with TLS: of that, for each step", millis(used / time.Duration(max(1, report.Steps))), ""},
		{"nine with TLS: steps and looks", fmt.Sprintf("%d of %d in %s", report.Steps, looks, report.To.Sub(report.From).Round(time.Second)), ""},
		{"nine with TLS: moves, unplanned elections", fmt.Sprintf("%d, %d", report.Planned, report.Unplanned), "2, 0"},
		{"nine with TLS: most members down at one time", fmt.Sprint(report.MembersDown), "1"},
	}, nil
}
