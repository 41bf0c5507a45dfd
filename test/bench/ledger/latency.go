package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/test/bench/figures"
)

// Every is the length of a bucket of writes.
const Every = 100 * time.Millisecond

// Bucket is what became of the writes that were sent within a tenth of a second.
type Bucket struct {
	Acked          int
	Quickest, Slow time.Duration // of the acknowledged
	Failed         int
	GaveUp         time.Duration // the longest time until a failed one was given up
}

// Latency is one run's writes over time, from the template change on.
type Latency struct {
	Key
	Buckets []Bucket
}

var latencyHead = []string{"variant", "grace", "number", "writes"}

// AppendLatency adds one run's writes to the file.
func AppendLatency(file string, l Latency) error {
	return appendTable(file, latencyHead, []string{l.Variant, l.Grace, strconv.Itoa(l.Number), join(l.Buckets, Bucket.String)})
}

// ReadLatency gives the writes of all runs in the file.
func ReadLatency(file string) ([]Latency, error) {
	lines, err := readTable(file)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	var all []Latency
	for n, line := range lines[1:] {
		l := Latency{Key: Key{Variant: line[0], Grace: line[1]}}
		if l.Number, err = strconv.Atoi(line[2]); err == nil {
			l.Buckets, err = split(line[3], parseBucket)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: row %d: %w", file, n+1, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// String is ACKNOWLEDGED:QUICKEST:SLOWEST, and after that :FAILED:GAVEUP if any
// failed; times in milliseconds.
func (b Bucket) String() string {
	text := fmt.Sprintf("%d:%s:%s", b.Acked, millis(b.Quickest), millis(b.Slow))
	if b.Failed > 0 {
		text += fmt.Sprintf(":%d:%s", b.Failed, millis(b.GaveUp))
	}
	return text
}

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64)
}

func parseBucket(text string) (b Bucket, err error) {
	words := strings.Split(text, ":")
	if len(words) != 3 && len(words) != 5 {
		return b, fmt.Errorf("%q is no bucket", text)
	}
	into := []any{&b.Acked, &b.Quickest, &b.Slow, &b.Failed, &b.GaveUp}
	for i, word := range words {
		switch v := into[i].(type) {
		case *int:
			*v, err = strconv.Atoi(word)
		case *time.Duration:
			*v, err = parseMillis(word)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

func parseMillis(text string) (time.Duration, error) {
	ms, err := strconv.ParseFloat(text, 64)
	return time.Duration(ms * float64(time.Millisecond)).Round(100 * time.Microsecond), err
}

// Buckets sorts writes by when they were sent.
func Buckets(writes []figures.Write) []Bucket {
	var all []Bucket
	for _, w := range writes {
		n := int(w.At / Every)
		if w.At < 0 {
			continue
		}
		for len(all) <= n {
			all = append(all, Bucket{})
		}
		b := &all[n]
		switch {
		case w.Failed:
			b.Failed, b.GaveUp = b.Failed+1, max(b.GaveUp, w.Took)
		case b.Acked == 0:
			b.Acked, b.Quickest, b.Slow = 1, w.Took, w.Took
		default:
			b.Acked, b.Quickest, b.Slow = b.Acked+1, min(b.Quickest, w.Took), max(b.Slow, w.Took)
		}
	}
	return all
}
