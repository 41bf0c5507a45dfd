package page

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
	"github.com/etcdroll/etcdroll/test/plot"
)

// draw makes one picture for each grace, with a panel for each variant, and
// gives the graces that have one.
func draw(dir string, runs []ledger.Run, latency []ledger.Latency, variants []Variant) (drawn []string, err error) {
	for _, g := range graces {
		var panels []plot.Panel
		for _, v := range variants {
			if r, ok := typical(of(runs, v.Name, g.name)); ok {
				i := slices.IndexFunc(latency, func(l ledger.Latency) bool { return l.Key == r.Key })
				if i >= 0 {
					panels = append(panels, panel(v, r, latency[i].Buckets))
				}
			}
		}
		if len(panels) == 0 {
			continue
		}
		var out bytes.Buffer
		if err := plot.Latency(&out, panels); err != nil {
			return drawn, err
		}
		if err := os.WriteFile(filepath.Join(dir, "writes-"+g.name+".svg"), out.Bytes(), 0o644); err != nil {
			return drawn, err
		}
		drawn = append(drawn, g.name)
	}
	return drawn, nil
}

// typical is the run in the middle by its longest gap; of two the better one.
func typical(runs []ledger.Run) (ledger.Run, bool) {
	if len(runs) == 0 {
		return ledger.Run{}, false
	}
	sorted := slices.SortedStableFunc(slices.Values(runs), func(a, b ledger.Run) int { return cmp.Compare(a.Gap, b.Gap) })
	return sorted[(len(sorted)-1)/2], true
}

// panel is on a clock of its own, that begins with the template change.
func panel(v Variant, r ledger.Run, buckets []ledger.Bucket) plot.Panel {
	var zero time.Time
	at := zero.Add
	p := plot.Panel{
		Title: fmt.Sprintf("%s: %d unplanned, gap %d ms, %d of %d failed (run %d, leader at first %d)",
			v.Title, r.Unplanned, r.Gap.Milliseconds(), r.Failed, r.Sent, r.Number, r.Leader),
		From: zero, To: at(time.Duration(len(buckets)) * ledger.Every), Every: ledger.Every,
	}
	if r.Gap > 0 {
		p.Gap = plot.Span{From: at(r.GapFrom), To: at(r.GapFrom + r.Gap), Label: fmt.Sprintf("%d ms", r.Gap.Milliseconds())}
	}
	for _, s := range r.Restarts {
		p.Away = append(p.Away, plot.Span{From: at(s.From), To: at(s.From + s.Took), Label: fmt.Sprintf("etcd-%d", s.Index)})
	}
	for _, e := range r.Elections {
		p.Moves = append(p.Moves, plot.Moment{At: at(e.At), Bad: !e.Planned})
	}
	for i, b := range buckets {
		when := at(time.Duration(i) * ledger.Every)
		if b.Acked > 0 {
			p.Samples = append(p.Samples, plot.Sample{At: when, Took: b.Quickest}, plot.Sample{At: when, Took: b.Slow})
		}
		if b.Failed > 0 {
			p.Samples = append(p.Samples, plot.Sample{At: when, Took: b.GaveUp, Failed: true})
		}
	}
	return p
}
