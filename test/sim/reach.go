package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// unreachable is what no walk can meet, and why.
var unreachable = map[string]string{
	"reason " + string(roll.ReasonLeaderUnknown):       "LeaderAgreed objects first; the rule behind it is a second net",
	"reason " + string(roll.ReasonNoCandidate):         "CaughtUp and LinearizableRead object first; the rule behind them is a second net",
	"objection of gate " + string(guard.StatusCurrent): "a stale status is waited for before any gate is asked",
}

// neverMet are those lines of the report.
func neverMet() string {
	var b strings.Builder
	b.WriteString("\nnever met:")
	for _, what := range slices.Sorted(maps.Keys(unreachable)) {
		fmt.Fprintf(&b, "\n  %s: %s", what, unreachable[what])
	}
	return b.String()
}

// each calls back for every rule, reason and gate with how often it was met.
func (c *coverage) each(look func(what string, times int)) {
	for _, name := range roll.Rules() {
		look("rule "+name, c.rules[name])
	}
	for _, text := range roll.Reasons {
		look("reason "+string(text.Reason), c.reasons[string(text.Reason)])
	}
	for _, about := range guard.Gates() {
		look("objection of gate "+string(about.Gate), c.gates[string(about.Gate)])
	}
}

// gaps are the rules, reasons and gates that the walks should have met and
// have not, and those that they should not have and have.
func (c *coverage) gaps() []string {
	var gaps []string
	c.each(func(what string, times int) {
		switch why := unreachable[what]; {
		case times == 0 && why == "":
			gaps = append(gaps, what+" was never met")
		case times > 0 && why != "":
			gaps = append(gaps, fmt.Sprintf("%s was met %d times, although %s", what, times, why))
		}
	})
	return gaps
}
