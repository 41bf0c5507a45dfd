package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/figures"
)

// Column of the table of all runs. at gives the place of its value.
type Column struct {
	Name, Meaning string
	at            func(*Run) any
}

// Columns are all, in the order of the file.
var Columns = []Column{
	{"variant", "what rolled", func(r *Run) any { return &r.Variant }},
	{"grace", "term: members get SIGTERM; kill: SIGKILL at the same moment", func(r *Run) any { return &r.Grace }},
	{"number", "of the run, from 0", func(r *Run) any { return &r.Number }},
	{"leader", "index of the member that led at the start", func(r *Run) any { return &r.Leader }},
	{"outcome", "finished, or what stood in the way", func(r *Run) any { return &r.Outcome }},
	{"unplanned", "elections that nobody had announced", func(r *Run) any { return &r.Unplanned }},
	{"moves", "announced leader moves", func(r *Run) any { return &r.Moves }},
	{"minimum", "the fewest moves for this start and order", func(r *Run) any { return &r.Minimum }},
	{"sent", "writes sent", func(r *Run) any { return &r.Sent }},
	{"failed", "of them not acknowledged: answered with an error, or not within their deadline", func(r *Run) any { return &r.Failed }},
	{"errors", "what the failed ones came to: NUMBER x ERROR, one a line", func(r *Run) any { return &r.Errors }},
	{"gap_s", "longest time without an acknowledged write, seconds", func(r *Run) any { return &r.Gap }},
	{"gap_from_s", "its begin, seconds since the change", func(r *Run) any { return &r.GapFrom }},
	{"p999_s", "99.9th percentile of the time of a write, failed ones included, seconds", func(r *Run) any { return &r.P999 }},
	{"degraded_s", "time with fewer than all members, seconds", func(r *Run) any { return &r.Degraded }},
	{"most_down", "members out of reach at one time", func(r *Run) any { return &r.MostDown }},
	{"wall_s", "from the template change until the variant says that it has finished, seconds", func(r *Run) any { return &r.Wall }},
	{"healthy_s", "from the template change until all members run the new template, answer and agree, seconds", func(r *Run) any { return &r.Healthy }},
	{"soaks_s", "configured soaks after restarts, in all, seconds", func(r *Run) any { return &r.Soaks }},
	{"rests_s", "configured rests after leader moves, in all, seconds", func(r *Run) any { return &r.Rests }},
	{"restarts", "of pods, in order: INDEX@SECONDS+SECONDS since the change and until Ready again", func(r *Run) any { return &r.Restarts }},
	{"requests", "to the API server by the variant's own identity", func(r *Run) any { return &r.Requests }},
	{"writes", "of them that could change something", func(r *Run) any { return &r.Writes }},
	{"function_cpu_s", "processor seconds of the function", func(r *Run) any { return &r.Function }},
	{"trigger_cpu_s", "processor seconds of the trigger", func(r *Run) any { return &r.Trigger }},
	{"elections", "seconds since the change; a ! marks those that nobody had announced", func(r *Run) any { return &r.Elections }},
	{"began", "time of the template change", func(r *Run) any { return &r.Began }},
	{"commit", "what was measured; a + marks changes that were not committed", func(r *Run) any { return &r.Commit }},
	{"config", "load, soak, versions", func(r *Run) any { return &r.Config }},
	{"machine", "what it was measured on", func(r *Run) any { return &r.Machine }},
}

func (c Column) encode(r *Run) string {
	switch v := c.at(r).(type) {
	case *string:
		return *v
	case *int:
		return strconv.Itoa(*v)
	case *time.Duration:
		return seconds(*v)
	case *time.Time:
		return v.UTC().Format(time.RFC3339)
	case *[]figures.Restart:
		return join(*v, func(s figures.Restart) string {
			return fmt.Sprintf("%d@%s+%s", s.Index, seconds(s.From), seconds(s.Took))
		})
	case *[]Count:
		var lines []string
		for _, n := range *v {
			lines = append(lines, fmt.Sprintf("%d x %s", n.N, n.Error))
		}
		return strings.Join(lines, "\n")
	case *[]Election:
		return join(*v, func(e Election) string { return seconds(e.At) + map[bool]string{false: "!"}[e.Planned] })
	}
	panic("column " + c.Name + " has no form") // a mistake in Columns, found by any test
}

func (c Column) decode(r *Run, text string) (err error) {
	switch v := c.at(r).(type) {
	case *string:
		*v = text
	case *int:
		*v, err = strconv.Atoi(text)
	case *time.Duration:
		*v, err = duration(text)
	case *time.Time:
		*v, err = time.Parse(time.RFC3339, text)
	case *[]figures.Restart:
		*v, err = split(text, parseRestart)
	case *[]Count:
		*v, err = parseCounts(text)
	case *[]Election:
		*v, err = split(text, parseElection)
	}
	if err != nil {
		return fmt.Errorf("column %s: %w", c.Name, err)
	}
	return nil
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

func duration(text string) (time.Duration, error) {
	n, err := strconv.ParseFloat(text, 64)
	return time.Duration(n * float64(time.Second)).Round(time.Millisecond), err
}

func join[T any](list []T, form func(T) string) string {
	var words []string
	for _, one := range list {
		words = append(words, form(one))
	}
	return strings.Join(words, " ")
}

func split[T any](text string, parse func(string) (T, error)) (list []T, err error) {
	for _, word := range strings.Fields(text) {
		one, err := parse(word)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func parseRestart(text string) (r figures.Restart, err error) {
	index, times, ok := strings.Cut(text, "@")
	from, took, ok2 := strings.Cut(times, "+")
	if !ok || !ok2 {
		return r, fmt.Errorf("%q is no restart", text)
	}
	if r.Index, err = strconv.Atoi(index); err != nil {
		return r, err
	}
	if r.From, err = duration(from); err != nil {
		return r, err
	}
	r.Took, err = duration(took)
	return r, err
}

func parseElection(text string) (e Election, err error) {
	at, unplanned := strings.CutSuffix(text, "!")
	e.Planned = !unplanned
	e.At, err = duration(at)
	return e, err
}

func parseCounts(text string) (list []Count, err error) {
	for line := range strings.Lines(text) {
		number, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " x ")
		n, err := strconv.Atoi(number)
		if err != nil || !ok {
			return nil, fmt.Errorf("%q is no count", line)
		}
		list = append(list, Count{Error: text, N: n})
	}
	return list, nil
}
