package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/test/scale/setting"
)

// target is a bar, and the sizes at which it holds.
type target struct {
	column string
	size   int
	most   float64
	what   string
}

var targets = []target{
	{"peak_change_mib", 10000, 64, "resident memory, peak included, at 10,000 sets and 30,000 pods: at most 64 MiB"},
	{"watches_statefulsets", 10000, 1, "one watch of StatefulSets per scope"},
	{"watches_pods", 10000, 1, "one watch of pods per scope"},
	{"watches_other", 10000, 0, "no other watch"},
	{"first_event_p99_ms", 1000, 250, "from a change to its event at 1,000 sets, 99th percentile: below 250 ms"},
	{"idle_cpu_percent", 1000, 0.5, "idle at 1,000 sets: below 0.5 % of a core"},
	{"idle_writes", 1000, 0, "idle: no write"},
	{"idle_events", 1000, 0, "idle: no event"},
}

const head = `# What the trigger costs

<!-- Written by make bench-scale; do not edit. The figures are in scale.csv. -->

The real trigger, as it is shipped and with the rights of config/rbac for one namespace, before the real API server
and its etcd. Sets and pods are written to the API server by the bench, with templates, statuses and managed fields
like those of real ones; StatefulSet controller, kubelet and function are played (` + "`test/scale`" + `). Each size has a fresh
control plane. Everything runs on one machine, the API server and the bench included, so that times are upper bounds.

`

// render writes the page from the table.
func render(rows map[int]row) string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "Machine: %s.\n\n", setting.Machine())
	sizes := slices.Sorted(maps.Keys(rows))
	b.WriteString("## Targets\n\n| target | measured | |\n|---|---|---|\n")
	for _, t := range targets {
		r, has := rows[t.size]
		if !has {
			fmt.Fprintf(&b, "| %s | not measured | |\n", t.what)
			continue
		}
		b.WriteString(t.line(r))
	}
	b.WriteString(growth(rows))
	b.WriteString("\n## All figures\n\n| |")
	for _, size := range sizes {
		fmt.Fprintf(&b, " %d |", size)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(sizes)) + "\n")
	for _, c := range columns[1:] {
		fmt.Fprintf(&b, "| %s |", c.meaning)
		for _, size := range sizes {
			fmt.Fprintf(&b, " %s |", rows[size][c.name])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (t target) line(r row) string {
	verdict := "met"
	if n, err := r.number(t.column); err != nil || n > t.most {
		verdict = "**missed**"
	}
	return fmt.Sprintf("| %s | %s | %s |\n", t.what, r[t.column], verdict)
}

// growth is what one more set takes, between each two sizes.
func growth(rows map[int]row) string {
	var b strings.Builder
	b.WriteString("\n## Growth\n\nWhat one more set with its three pods takes, from size to size; a straight line gives the same each time.\n\n" +
		"| from | to | resident memory when idle, KiB | processor time when idle, µs per second |\n|---|---|---|---|\n")
	sizes := slices.Sorted(maps.Keys(rows))
	for i := 1; i < len(sizes); i++ {
		from, to := rows[sizes[i-1]], rows[sizes[i]]
		more := float64(sizes[i] - sizes[i-1])
		memory, err1 := difference(from, to, "rss_idle_mib")
		processor, err2 := difference(from, to, "idle_cpu_percent")
		if err1 != nil || err2 != nil {
			continue
		}
		fmt.Fprintf(&b, "| %d | %d | %.2f | %.2f |\n", sizes[i-1], sizes[i], memory*1024/more, processor*1e4/more)
	}
	return b.String()
}

func difference(from, to row, column string) (float64, error) {
	a, err := from.number(column)
	if err != nil {
		return 0, err
	}
	b, err := to.number(column)
	return b - a, err
}
