package main

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/figures"
	"github.com/etcdroll/etcdroll/test/scale/cost"
)

// The targets of the function.
const (
	listenTarget = 50 * time.Millisecond
	peakTarget   = 30 * cost.MiB
	stepTarget   = 50 * time.Millisecond
	binaryTarget = 30 * cost.MiB
)

// figure is one line of the page.
type figure struct {
	what, measured string
	bar            string // "" is held to nothing
	met            bool   // of what nobody has judged: no
}

// plain is held to nothing.
func plain(what, measured string) figure { return figure{what: what, measured: measured} }

// within is a time that must be shorter than the bar; a time of nothing is not.
func within(what string, took, bar time.Duration) figure {
	return figure{what, millis(took), "< " + round(bar), took > 0 && took < bar}
}

// below is a size in bytes that must be smaller than the bar; no size is not.
func below(what string, size, bar int64) figure {
	return figure{what, mebi(size), fmt.Sprintf("< %d MiB", bar/cost.MiB), size > 0 && size < bar}
}

// exactly is a count that must be this one.
func exactly(what string, measured, bar any) figure {
	return figure{what, fmt.Sprint(measured), fmt.Sprint(bar), fmt.Sprint(measured) == fmt.Sprint(bar)}
}

func percentile(took []time.Duration, p float64) time.Duration { return figures.Percentile(took, p) }

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func round(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func mebi(size int64) string { return fmt.Sprintf("%.1f MiB", float64(size)/cost.MiB) }

// spread is the middle and how far the others go.
func spread(took []time.Duration) string {
	return fmt.Sprintf("%s (%s to %s)", millis(percentile(took, 50)), millis(percentile(took, 0)), millis(percentile(took, 100)))
}
