package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/ledger"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/timeline"
)

// report tells of a round and keeps it.
func (t *theatre) report(p plan.Round, r judge.Record, v judge.Verdict, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.unmade++
		fmt.Printf("round %d NOT MADE: %v\n  %s\n  %s\n", p.Number, err, p, t.replay(p))
		return
	}
	row := ledger.Of(r, v)
	t.rows = append(t.rows, row)
	if t.csv != "" {
		if err := ledger.Append(t.csv, row); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("round %d %s: %.1f s, %d of %d faults, %d moves, %d other elections, %d halts, %d writes (%s)\n", p.Number, verdict(v), row.Took.Seconds(),
		len(r.Incidents), len(p.Faults)+len(p.Shared), v.Planned, len(v.Explained)+row.Unplanned, len(r.Halts), r.Acked, p.Shape)
	text := t.story(p, r, v)
	file := filepath.Join(t.logs, fmt.Sprintf("seed-%d-round-%d.txt", p.Seed, p.Number))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		fmt.Println(err)
	}
	switch {
	case t.bite != nil:
		t.bite.heard(p, v)
	case len(v.Findings) > 0:
		t.failed++
		fmt.Print(text)
		fmt.Printf("logs are in %s, the timeline in %s\n", t.logs, file)
	}
}

func verdict(v judge.Verdict) string {
	if len(v.Findings) > 0 {
		return "BROKEN"
	}
	return "ok"
}

// story is all there is to know about a round.
func (t *theatre) story(p plan.Round, r judge.Record, v judge.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p)
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "BROKEN %s: %s\n", f.Invariant, f.Text)
	}
	fmt.Fprintf(&b, "again: %s\n%s", t.replay(p), timeline.Of(r, v))
	return b.String()
}

// replay is the command that makes the round again.
func (t *theatre) replay(p plan.Round) string {
	again := fmt.Sprintf("go run ./test/chaos -seed %d -round %d", p.Seed, p.Number)
	if t.without != "" {
		again += " -without " + t.without
	}
	return again
}

// summary prints the tables and says whether all went well.
func (t *theatre) summary(took time.Duration) bool {
	fmt.Printf("\n%s\n%d rounds in %s, that is %.0f an hour with %d at once; %d not made\n", ledger.Tables(t.rows), len(t.rows), took.Round(time.Second),
		float64(len(t.rows))/took.Hours(), t.parallel, t.unmade)
	if t.failed == 0 && t.unmade == 0 {
		fmt.Println("every invariant held")
		return true
	}
	fmt.Printf("%d rounds broke an invariant, %d could not be made; logs are in %s\n", t.failed, t.unmade, t.logs)
	return false
}
