package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"
)

// row is what was measured at one size, by column.
type row map[string]string

func (r row) seconds(column string, d time.Duration) { r[column] = fmt.Sprintf("%.2f", d.Seconds()) }

// number is NaN-free: a column that is missing is an error of the caller.
func (r row) number(column string) (float64, error) {
	n, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		return 0, fmt.Errorf("column %s at %s sets: %w", column, r["sets"], err)
	}
	return n, nil
}

// columns of the table, in order, and what they mean.
var columns = []struct{ name, meaning string }{
	{"sets", "managed sets, three pods each"},
	{"pods", "pods"},
	{"start_s", "seconds from exec to ready: all caches filled"},
	{"rss_start_mib", "resident memory then, MiB"},
	{"peak_start_mib", "its peak until then, MiB"},
	{"idle_s", "length of the idle time, seconds"},
	{"idle_cpu_percent", "processor time over the idle time, percent of one core"},
	{"idle_events", "events in the idle time"},
	{"idle_writes", "writes in the idle time, by the API server's audit log, other than to the trigger's own Lease"},
	{"idle_lease_renewals", "renewals of that Lease"},
	{"rss_idle_mib", "resident memory after the idle time, MiB"},
	{"peak_idle_mib", "its peak until then, MiB"},
	{"relist_cpu_s", "processor seconds of one comparison of the caches with fresh lists, which production makes every ten minutes"},
	{"rss_relist_mib", "resident memory after it, MiB"},
	{"peak_relist_mib", "its peak until then, MiB"},
	{"watches_statefulsets", "watches of StatefulSets asked for until then, by the audit log"},
	{"watches_pods", "watches of pods"},
	{"watches_other", "other resources watched"},
	{"changed", "sets whose template was changed"},
	{"at_once", "of them at the same time: one in a hundred of all"},
	{"change_cpu_percent", "processor time while they rolled, percent of one core"},
	{"change_cpu_ms_per_set", "processor milliseconds for one roll"},
	{"events_per_set", "events for one roll of three pods, continuations included"},
	{"first_events", "changes that were followed by an event"},
	{"first_event_p50_ms", "milliseconds from before the owner's request to the first event at the function, median"},
	{"first_event_p99_ms", "the same, 99th percentile"},
	{"rss_change_mib", "resident memory after all changes, MiB"},
	{"peak_change_mib", "its peak until then, MiB"},
	{"scrape_s", "seconds for one scrape of /metrics"},
	{"scrape_mib", "its length, MiB"},
	{"rss_scrape_mib", "resident memory after it, MiB"},
	{"peak_scrape_mib", "its peak until then, MiB"},
}

// readRows reads an earlier table; none is an empty one.
func readRows(file string) (map[int]row, error) {
	rows := map[int]row{}
	source, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	lines, err := csv.NewReader(source).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, fmt.Errorf("read %s: %w", file, errors.Join(err, errors.New("no table")))
	}
	for _, line := range lines[1:] {
		r := row{}
		for i, value := range line {
			r[lines[0][i]] = value
		}
		sets, err := strconv.Atoi(r["sets"])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		rows[sets] = r
	}
	return rows, nil
}

func writeRows(file string, rows map[int]row) error {
	target, err := os.Create(file)
	if err != nil {
		return err
	}
	w := csv.NewWriter(target)
	var line []string
	for _, c := range columns {
		line = append(line, c.name)
	}
	_ = w.Write(line)
	for _, sets := range slices.Sorted(maps.Keys(rows)) {
		line = line[:0]
		for _, c := range columns {
			line = append(line, rows[sets][c.name])
		}
		_ = w.Write(line)
	}
	w.Flush()
	return errors.Join(w.Error(), target.Close())
}
