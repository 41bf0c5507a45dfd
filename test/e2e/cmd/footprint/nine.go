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
func nineMembers(ctx context.Context, c *cluster.Cluster, programs product.Programs) ([]chapter, error) {
	b := &bench{cluster: c, programs: programs}
	defer b.end()
	if err := b.beginSecure(ctx); err != nil {
		return nil, err
	}
	list, err := b.secureRoll(ctx)
	return []chapter{{"Nine members with TLS", howNine, list}}, err
}

// beginSecure installs everything and lets the last member lead.
func (b *bench) beginSecure(ctx context.Context) error {
	namespace, remove, err := b.cluster.Namespace(ctx, "footprint-nine")
	if err != nil {
		return err
	}
	b.endings = append(b.endings, remove)
	b.first, err = b.secureSet(ctx, etcdset.Options{Namespace: namespace, Name: "etcd", Replicas: 9, TLSSecret: "etcd-tls", Config: etcdset.Quick()})
	if err != nil {
		return err
	}
	if err := b.install(ctx, namespace, b.first.TLSSecret); err != nil {
		return err
	}
	if err := b.watching.Until(ctx, formsWithin, "the set was not taken in charge", observer.View.Settled); err != nil {
		return err
	}
	return b.first.LeadWith(ctx, 8)
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
func (b *bench) secureRoll(ctx context.Context) ([]figure, error) {
	began, mark := time.Now(), b.watching.Mark()
	before, err := cost.Processor(b.function.PID())
	if err != nil {
		return nil, err
	}
	from := b.watching.View().Set.Update
	if err := b.first.Apply(ctx, etcdset.Template(etcdset.ToVersion(nextVersion))); err != nil {
		return nil, err
	}
	if err := b.watching.Until(ctx, rollsWithin, "the roll of nine has not ended", rolled(from)); err != nil {
		return nil, err
	}
	after, err := cost.Processor(b.function.PID())
	if err != nil {
		return nil, err
	}
	peak, err := cost.MemoryOf(b.function.PID())
	if err != nil {
		return nil, err
	}
	report, err := b.watching.Report(mark)
	if err != nil {
		return nil, err
	}
	entries, err := audit.Between(b.cluster.AuditLog, began, time.Now(), b.place.FunctionUser())
	looks, _ := looksOf(entries)
	return ofNine(peak.Peak, after-before, len(looks), report), err
}

func ofNine(peak int64, used time.Duration, looks int, r observer.Report) []figure {
	return []figure{
		below("nine with TLS: roll-fn's peak resident memory", peak, peakTarget),
		exactly("nine with TLS: leader moves", r.Planned, 2),
		exactly("nine with TLS: unplanned elections", r.Unplanned, 0),
		exactly("nine with TLS: most members down at one time", r.MembersDown, 1),
		plain("nine with TLS: steps, of all looks", fmt.Sprintf("%d of %d in %s", r.Steps, looks, r.To.Sub(r.From).Round(time.Second))),
		plain("nine with TLS: roll-fn's processor time over the roll", round(used)),
		plain("nine with TLS: of that, for each look", millis(used/time.Duration(max(1, looks)))),
		plain("nine with TLS: of that, for each step", millis(used/time.Duration(max(1, r.Steps)))),
	}
}
