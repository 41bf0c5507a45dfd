package trigger

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/etcdroll/etcdroll/pkg/events"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestBlockedBackoffNumbers(t *testing.T) {
	c := DefaultCadence()
	var got []float64
	for n := 1; n <= 12; n++ {
		got = append(got, float64(c.blocked(n).Milliseconds())/1000)
	}
	want := []float64{2, 3, 4.5, 6.75, 10.125, 15.187, 22.781, 34.171, 51.257, 60, 60, 60}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if c.blocked(100000) != time.Minute || c.blocked(0) != 2*time.Second {
		t.Error("the ends of the scale are wrong")
	}
}

func TestRetryNumbers(t *testing.T) {
	c := DefaultCadence()
	var got []time.Duration
	for n := 1; n <= 7; n++ {
		got = append(got, c.retry(n))
	}
	want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestSpreadIsSteadyAndAtMostATenth(t *testing.T) {
	seen := map[time.Duration]bool{}
	for _, key := range []string{"a/a", "a/b", "prod/etcd", "prod/etcd-2", ""} {
		got := spread(key, 5*time.Second)
		if got != spread(key, 5*time.Second) || got > 5*time.Second || got < 4500*time.Millisecond {
			t.Errorf("%q: %s", key, got)
		}
		seen[got] = true
	}
	if len(seen) < 4 {
		t.Errorf("sets call in step: %v", seen)
	}
}

func TestClassify(t *testing.T) {
	reply := events.NewContinue(events.Target{Namespace: "a", Name: "b"}, 1, noon, noon, nil)
	for name, c := range map[string]struct {
		answer events.Answer
		err    error
		want   Outcome
		works  bool
	}{
		"refused connection":     {events.Answer{}, errors.New("connection refused"), Retry, false},
		"200 empty":              {events.Answer{Status: 200}, nil, Verdict, true},
		"200 with event":         {events.Answer{Status: 200, Reply: &reply}, nil, Taken, true},
		"200 with a broken body": {events.Answer{Status: 200, ReplyErr: errors.New("x")}, nil, Taken, true},
		"200 from a proxy":       {events.Answer{Status: 200, Text: "hello"}, nil, Taken, true},
		"202":                    {events.Answer{Status: 202}, nil, Taken, true},
		"204":                    {events.Answer{Status: 204}, nil, Taken, true},
		"302":                    {events.Answer{Status: 302}, nil, Refused, false},
		"400":                    {events.Answer{Status: 400}, nil, Refused, true},
		"401":                    {events.Answer{Status: 401}, nil, Refused, false},
		"403":                    {events.Answer{Status: 403}, nil, Refused, true},
		"404":                    {events.Answer{Status: 404}, nil, Retry, false},
		"405":                    {events.Answer{Status: 405}, nil, Refused, false},
		"408":                    {events.Answer{Status: 408}, nil, Retry, false},
		"413":                    {events.Answer{Status: 413}, nil, Refused, true},
		"415":                    {events.Answer{Status: 415}, nil, Refused, true},
		"429":                    {events.Answer{Status: 429}, nil, Retry, false},
		"500":                    {events.Answer{Status: 500}, nil, Retry, false},
		"503":                    {events.Answer{Status: 503}, nil, Retry, false},
		"no status at all":       {events.Answer{}, nil, Refused, false},
	} {
		if got := classify(c.answer, c.err); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := sinkWorks(c.answer, c.err); got != c.works {
			t.Errorf("%s: the sink works is %t", name, got)
		}
	}
}

func TestPendKeepsOneChain(t *testing.T) {
	c := DefaultCadence()
	at := func(seq int64, in time.Duration) Continuation { return Continuation{Seq: seq, Due: noon.Add(in)} }
	for name, x := range map[string]struct {
		had  *Continuation
		set  int64
		last int64
		next Continuation
		want Continuation
	}{
		"first":                        {nil, 3, 0, at(3, 9), at(3, 9)},
		"higher sequence wins":         {ptr(at(3, 1)), 3, 0, at(4, 9), at(4, 9)},
		"lower sequence is dropped":    {ptr(at(4, 9)), 3, 0, at(3, 1), at(4, 9)},
		"of two the sooner":            {ptr(at(4, 9)), 3, 0, at(4, 5), at(4, 5)},
		"duplicate is dropped":         {ptr(at(4, 5)), 3, 0, at(4, 5), at(4, 5)},
		"step taken already":           {ptr(at(9, 5)), 5, 0, at(4, 5), at(9, 5)},
		"waiting chain must not spin":  {nil, 3, 3, at(3, 0), at(3, c.Gap)},
		"a step may follow at once":    {nil, 3, 3, at(4, 0), at(4, 0)},
		"waiting chain keeps its time": {nil, 3, 3, at(3, time.Minute), at(3, time.Minute)},
	} {
		r := pend(Record{Set: &SetView{Seq: x.set}, LastSeq: x.last, Pending: x.had}, x.next, noon, c)
		if r.Pending == nil || r.Pending.Seq != x.want.Seq || !r.Pending.Due.Equal(x.want.Due) {
			t.Errorf("%s: %+v, want %+v", name, r.Pending, x.want)
		}
	}
}

func TestPendDropsAContinuationWhoseStepWasTaken(t *testing.T) {
	r := pend(Record{Set: &SetView{Seq: 5}}, Continuation{Seq: 4, Due: noon}, noon, DefaultCadence())
	if r.Pending != nil {
		t.Errorf("pending %+v", r.Pending)
	}
}

func ptr[T any](v T) *T { return &v }

func TestContinuationWaitIsTakenFromTheSendersClockAlone(t *testing.T) {
	c := DefaultCadence()
	ahead := noon.Add(3 * time.Hour) // the sender's clock is wrong by hours
	for _, x := range []struct{ in, want time.Duration }{
		{0, 0}, {1500 * time.Millisecond, 1500 * time.Millisecond}, {-time.Minute, 0}, {time.Hour, c.NotBeforeMost},
	} {
		e := events.NewContinue(events.Target{Namespace: "a", Name: "b"}, 1, ahead, ahead.Add(x.in), nil)
		req, err := events.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := continuation(e, req, noon, c).Due.Sub(noon); got != x.want {
			t.Errorf("asked for %s: %s, want %s", x.in, got, x.want)
		}
	}
}

// TestPropertyWhoeverNeedsSomebodyIsPlannedFor: there is no record of a set that is to be asked about at heartbeat or
// backoff pace for which the plan rests for ever, or longer than the longest interval.
func TestPropertyWhoeverNeedsSomebodyIsPlannedFor(t *testing.T) {
	c := DefaultCadence()
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		r := Record{
			Set:     &SetView{},
			Assess:  Assessment{Pace: rapid.SampledFrom([]Pace{Backoff, Heartbeat}).Draw(t, "pace"), Fingerprint: "f"},
			Asked:   rapid.SampledFrom([]string{"", "f", "g"}).Draw(t, "asked"),
			AskedAt: now.Add(-time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "ago"))),
			Repeats: rapid.IntRange(0, 100).Draw(t, "repeats"), Verdicts: rapid.IntRange(0, 100).Draw(t, "verdicts"),
			Refused: rapid.Bool().Draw(t, "refused"), LastSeq: rapid.Int64Range(0, 9).Draw(t, "last"),
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "tries") {
			r = settle(r, Ask, Retry, time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "after")), now, c)
			if r.Failures != i+1 {
				t.Fatal("failures are not counted")
			}
		}
		if rapid.Bool().Draw(t, "pending") {
			r = pend(r, Continuation{Seq: 5, Due: now.Add(c.NotBeforeMost)}, now, c)
		}
		move := plan(r, now, c)
		if move.Act == Rest && (move.After <= 0 || move.After > max(c.RetryAfterMost, c.BlockedMost)) {
			t.Fatalf("rests for %s", move.After)
		}
		later := plan(r, now.Add(move.After), c)
		if move.Act == Rest && later.Act == Rest && later.After > c.BlockedMost {
			t.Fatalf("after waiting for %s it waits for another %s", move.After, later.After)
		}
	})
}
