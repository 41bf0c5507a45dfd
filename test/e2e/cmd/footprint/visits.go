package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// line is what the function's log says of one visit.
type line struct {
	At         time.Time `json:"time"`
	Step       string    `json:"step"`
	Deed       string    `json:"deed"`
	DurationMs int64     `json:"durationMs"`
}

// took is cut off to whole milliseconds.
func (l line) took() time.Duration { return time.Duration(l.DurationMs) * time.Millisecond }

func (l line) began() time.Time { return l.At.Add(-l.took()) }

// step is a visit that wrote: what the log calls it, and its time by either clock.
type step struct {
	kind          string
	began         time.Time
	outside, told time.Duration
}

// linesOf are the visits in a log of the function.
func linesOf(file string) ([]line, error) {
	log, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lines []line
	for text := range bytes.Lines(log) {
		whole := bytes.HasSuffix(text, []byte("\n")) // or it is still being written
		if !whole || !bytes.Contains(text, []byte(`"msg":"visit"`)) {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// slack is how far the two readings of one clock may lie apart: the log's time
// is cut off to a millisecond.
const slack = 2 * time.Millisecond

// stepsOf finds the line of each visit, in the order in which they began, and
// keeps those that wrote. A line whose visit began before or after its event was
// under way is of another one.
func stepsOf(visits []visit, lines []line) ([]step, error) {
	if len(lines) < len(visits) {
		return nil, errors.New("the function has answered more visits than it logged")
	}
	visits, lines = slices.Clone(visits), slices.Clone(lines)
	slices.SortStableFunc(visits, func(a, b visit) int { return a.began.Compare(b.began) })
	slices.SortStableFunc(lines, func(a, b line) int { return a.began().Compare(b.began()) })
	var steps []step
	for i, v := range visits {
		l := lines[i]
		if l.began().Before(v.began.Add(-slack)) || l.began().After(v.began.Add(v.took+slack)) {
			return nil, fmt.Errorf("visit %d of %d began at %s and was logged from %s on", i+1, len(visits),
				v.began.Format(time.StampMicro), l.began().Format(time.StampMicro))
		}
		if l.Deed == "written" {
			steps = append(steps, step{kind: l.Step, began: v.began, outside: v.took, told: l.took()})
		}
	}
	return steps, nil
}

// outside are the times of the steps of one kind, of all if it is "".
func outside(steps []step, kind string) []time.Duration {
	var took []time.Duration
	for _, s := range steps {
		if kind == "" || s.kind == kind {
			took = append(took, s.outside)
		}
	}
	return took
}

// stepFigures judge the middle of all steps and show each kind by itself, the
// slowest kind first.
func stepFigures(steps []step, rolls int) []figure {
	var told []time.Duration
	kinds := map[string]bool{}
	for _, s := range steps {
		told, kinds[s.kind] = append(told, s.told), true
	}
	all := outside(steps, "")
	list := []figure{
		within("warm step: p50 of all", percentile(all, 50), stepTarget),
		plain("warm step: slowest", millis(percentile(all, 100))),
		plain("warm steps, and the rolls they are of", fmt.Sprintf("%d in %d", len(all), rolls)),
		plain("the same p50 by the function's log, cut off to whole milliseconds", round(percentile(told, 50))),
	}
	for _, kind := range slowestFirst(steps, kinds) {
		took := outside(steps, kind)
		list = append(list, plain(fmt.Sprintf("step `%s`, %d of them: p50 and slowest", kind, len(took)),
			millis(percentile(took, 50))+", "+millis(percentile(took, 100))))
	}
	return list
}

func slowestFirst(steps []step, kinds map[string]bool) []string {
	var list []string
	for kind := range kinds {
		list = append(list, kind)
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(percentile(outside(steps, b), 50), percentile(outside(steps, a), 50)), cmp.Compare(a, b))
	})
	return list
}
