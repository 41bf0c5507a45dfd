package trigger

import (
	"testing"
	"time"
)

func TestOnlyALastingRefusalIsAMissingRight(t *testing.T) {
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	var r refusals
	if !r.last(at(0)) {
		t.Error("at the start the first refusal counts")
	}
	r = refusals{}
	r.allow(30 * time.Second)
	for _, d := range []time.Duration{0, time.Second, 29 * time.Second} {
		if r.last(at(d)) {
			t.Errorf("given up after %s", d)
		}
	}
	if !r.last(at(30 * time.Second)) {
		t.Error("not given up although it lasts")
	}
	if r.last(at(time.Hour)) {
		t.Error("a refusal an hour later is a new one")
	}
}
