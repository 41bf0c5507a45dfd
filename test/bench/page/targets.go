package page

import (
	"fmt"
	"strings"

	"github.com/etcdroll/etcdroll/test/bench/ledger"
)

// target is a bar for each run of etcdroll in one topology.
type target struct {
	what   string
	broker bool
	met    func(ledger.Run) bool
	of     func(ledger.Run) float64
	most   float64 // for the median, where the bar is one for it as well
	digits int
}

const (
	directBar = 1.05
	brokerBar = 1.15
)

func targets() []target {
	var list []target
	for _, broker := range []bool{false, true} {
		where, bar := "direct", directBar
		if broker {
			where, bar = "through the broker", brokerBar
		}
		list = append(list,
			target{what: "no unplanned election, " + where, broker: broker,
				met: func(r ledger.Run) bool { return r.Unplanned == 0 }, of: func(r ledger.Run) float64 { return float64(r.Unplanned) }},
			target{what: "moves at the minimum, " + where + " (moves above it)", broker: broker,
				met: func(r ledger.Run) bool { return r.Moves == r.Minimum }, of: func(r ledger.Run) float64 { return float64(r.Moves - r.Minimum) }},
			target{what: fmt.Sprintf("wall time at most %.2f floors, %s", bar, where), broker: broker, most: bar, digits: 3,
				met: func(r ledger.Run) bool { return r.OverFloor() <= bar }, of: ledger.Run.OverFloor})
	}
	return list
}

// targetTable judges the finished runs with either grace.
func targetTable(runs []ledger.Run, variants []Variant, graces []string) string {
	var b strings.Builder
	b.WriteString("| target | measured | runs that meet it | |\n|---|---|---|---|\n")
	for _, t := range targets() {
		var mine []ledger.Run
		for _, v := range variants {
			if v.Etcdroll && v.Broker == t.broker {
				for _, grace := range graces {
					mine = append(mine, of(runs, v.Name, grace)...)
				}
			}
		}
		b.WriteString(t.line(mine))
	}
	return b.String()
}

func (t target) line(runs []ledger.Run) string {
	met := 0
	for _, r := range runs {
		if t.met(r) {
			met++
		}
	}
	verdict := "**missed**"
	switch {
	case len(runs) == 0:
		verdict = "not measured"
	case met == len(runs):
		verdict = "met"
	case t.most > 0 && spreadOf(runs, t.of).Median <= t.most:
		verdict = "met by the median, not by every run"
	}
	return fmt.Sprintf("| %s | %s | %d of %d | %s |\n", t.what, spread(runs, t.of, t.digits), met, len(runs), verdict)
}
