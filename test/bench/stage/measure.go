package stage

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/test/bench/figures"
	"github.com/etcdroll/etcdroll/test/bench/ledger"
	"github.com/etcdroll/etcdroll/test/e2e/audit"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

// measure fills in the row from what observer, writer, audit log and kernel say.
func (a *attempt) measure(r *ledger.Run) (ledger.Latency, error) {
	r.Began = a.began
	report, err := a.observer.Report(a.mark)
	if err != nil {
		return ledger.Latency{}, err
	}
	r.Wall, r.Healthy = a.wall, a.healthy
	r.Unplanned, r.Moves, r.Minimum = report.Unplanned, report.Planned, figures.MinimumMoves(a.Members, r.Leader, !a.variant.onDelete)
	r.Degraded, r.MostDown = report.Degraded, report.MembersDown
	if a.variant.soaks {
		r.Soaks = time.Duration(a.Members) * a.Cooldown
	}
	if a.variant.etcdroll {
		limits := guard.DefaultLimits()
		limits.Cooldown = a.Cooldown
		r.Rests = time.Duration(r.Moves) * limits.MoveCooldown()
	}
	for _, p := range report.Replaced {
		if !p.Back.IsZero() {
			r.Restarts = append(r.Restarts, figures.Restart{Index: p.Index, From: p.Began.Sub(a.began), Took: p.Back.Sub(p.Began)})
		}
	}
	for _, e := range report.Elections {
		r.Elections = append(r.Elections, ledger.Election{At: e.At.Sub(a.began), Planned: e.Planned})
	}
	writes := writesOf(a.writer.Samples(a.began), a.began)
	r.GapFrom, r.Gap = figures.Gap(writes, a.ended.Sub(a.began))
	r.P999, r.Sent = figures.Percentile(figures.Times(writes), 99.9), len(writes)
	r.Failed, r.Errors = failures(a.writer.Tally(a.began))
	r.Function, r.Trigger = a.after[0]-a.before[0], a.after[1]-a.before[1]
	if err := a.requests(r); err != nil {
		return ledger.Latency{}, err
	}
	return ledger.Latency{Key: r.Key, Buckets: ledger.Buckets(writes)}, nil
}

// failures are listed without line breaks, which separate them in the table.
func failures(t writer.Tally) (failed int, errors []ledger.Count) {
	for _, text := range slices.Sorted(maps.Keys(t.Errors)) {
		errors = append(errors, ledger.Count{Error: strings.Join(strings.Fields(text), " "), N: t.Errors[text]})
	}
	return t.Failed, errors
}

func writesOf(samples []writer.Sample, began time.Time) []figures.Write {
	var writes []figures.Write
	for _, s := range samples {
		writes = append(writes, figures.Write{At: s.At.Sub(began), Took: s.Took, Failed: s.Failed})
	}
	return writes
}

// requests counts what the variant's own identity asked the API server for from
// the change until the end. The native variants have none: they are the
// StatefulSet controller, which works for all.
func (a *attempt) requests(r *ledger.Run) error {
	var users []string
	switch {
	case a.variant.etcdroll:
		users = a.direct.Users()
	case a.variant.script != nil:
		users = []string{a.script.user}
	default:
		return nil
	}
	until := a.ended
	if a.wall > 0 {
		until = a.began.Add(a.wall)
	}
	entries, err := audit.Between(a.cluster.AuditLog, a.began, until, users...)
	if err != nil {
		return err
	}
	r.Requests = len(entries)
	for _, e := range entries {
		if e.Write() {
			r.Writes++
		}
	}
	return nil
}
