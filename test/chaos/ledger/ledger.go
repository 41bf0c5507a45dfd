// Package ledger adds up what rounds have shown: a CSV row for each, which is
// appended as it goes, and tables over any number of rows.
package ledger

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/judge"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

// Row is one round.
type Row struct {
	Seed      int64
	Round     int
	Shape     string
	Faults    []string // that came about, with their kinds
	Took      time.Duration
	Planned   int // leader moves
	Explained int // elections that a fault explains
	Unplanned int // elections that nothing explains
	Halts     int
	Acked     int
	Lost      int      // acknowledged writes that could not be read back, or all of a writer that could not read
	Broken    []string // invariants
	When      time.Time
}

// Of sums a round up.
func Of(r judge.Record, v judge.Verdict) Row {
	row := Row{Seed: r.Plan.Seed, Round: r.Plan.Number, Shape: r.Plan.Shape.String(), Planned: v.Planned, Explained: len(v.Explained),
		Took: r.Report.To.Sub(r.Started), Halts: len(r.Halts), Acked: r.Acked, When: time.Now().UTC()}
	for _, i := range r.Incidents {
		row.Faults = append(row.Faults, string(i.Fault.Kind))
	}
	for _, f := range v.Findings {
		row.Broken = append(row.Broken, f.Invariant)
		switch f.Invariant {
		case "Elections":
			row.Unplanned++
		case "Writes":
			row.Lost++
		}
	}
	return row
}

var head = []string{"seed", "round", "shape", "faults", "seconds", "moves", "elections explained", "elections unexplained", "halts", "acknowledged", "lost", "broken", "at"}

func (r Row) cells() []string {
	return []string{strconv.FormatInt(r.Seed, 10), strconv.Itoa(r.Round), r.Shape, strings.Join(r.Faults, " "), fmt.Sprintf("%.1f", r.Took.Seconds()),
		strconv.Itoa(r.Planned), strconv.Itoa(r.Explained), strconv.Itoa(r.Unplanned), strconv.Itoa(r.Halts), strconv.Itoa(r.Acked), strconv.Itoa(r.Lost),
		strings.Join(r.Broken, " "), r.When.Format(time.RFC3339)}
}

// Append adds the row to the file, below a head if it is new.
func Append(file string, r Row) error {
	_, err := os.Stat(file)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("append round: %w", err)
	}
	w := csv.NewWriter(f)
	if fresh {
		_ = w.Write(head)
	}
	_ = w.Write(r.cells())
	w.Flush()
	return errors.Join(w.Error(), f.Close())
}

// Read gives all rows of a file.
func Read(file string) ([]Row, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read rounds: %w", err)
	}
	var rows []Row
	for n, line := range lines {
		if n == 0 {
			continue
		}
		row, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("read rounds: line %d of %s: %w", n+1, file, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func parse(c []string) (Row, error) {
	var errs []error
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		errs = append(errs, err)
		return n
	}
	seed, err := strconv.ParseInt(c[0], 10, 64)
	errs = append(errs, err)
	seconds, err := strconv.ParseFloat(c[4], 64)
	errs = append(errs, err)
	when, err := time.Parse(time.RFC3339, c[12])
	errs = append(errs, err)
	r := Row{Seed: seed, Round: number(c[1]), Shape: c[2], Faults: strings.Fields(c[3]), Took: time.Duration(seconds * float64(time.Second)),
		Planned: number(c[5]), Explained: number(c[6]), Unplanned: number(c[7]), Halts: number(c[8]), Acked: number(c[9]), Lost: number(c[10]),
		Broken: strings.Fields(c[11]), When: when}
	return r, errors.Join(errs...)
}

// Kinds counts the faults of the rows by kind.
func Kinds(rows []Row) map[plan.Kind]int {
	n := map[plan.Kind]int{}
	for _, r := range rows {
		for _, f := range r.Faults {
			n[plan.Kind(f)]++
		}
	}
	return n
}
