package stage

import (
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/relay"
)

func TestTheWeatherIsFairUnlessChanged(t *testing.T) {
	w := &Weather{}
	if got := w.Fate(0); got != (relay.Fate{}) {
		t.Errorf("fair weather gives %+v", got)
	}
	w.Change(1, func(c *Conditions) { c.Copies, c.Delay = 3, time.Second })
	if got := w.Fate(0); got != (relay.Fate{Copies: 3, Delay: time.Second}) {
		t.Errorf("%+v", got)
	}
}

func TestLossAndSpreadComeFromTheSeed(t *testing.T) {
	fates := func(seed uint64) (list []relay.Fate, lost int) {
		w := &Weather{}
		w.Change(seed, func(c *Conditions) { c.Loss, c.Spread = 300, time.Second })
		for n := range 1000 {
			f := w.Fate(n)
			if f.Delay >= time.Second || f.Echo <= 0 || f.Echo > time.Second {
				t.Fatalf("out of range: %+v", f)
			}
			if f.Lost {
				lost++
			}
			list = append(list, f)
		}
		return list, lost
	}
	a, lost := fates(1)
	b, _ := fates(1)
	c, _ := fates(2)
	if lost < 200 || lost > 400 {
		t.Errorf("%d of 1000 events are lost, want about 300", lost)
	}
	same, other := 0, 0
	for n := range a {
		if a[n] == b[n] {
			same++
		}
		if a[n] != c[n] {
			other++
		}
	}
	if same != 1000 || other == 0 {
		t.Errorf("one seed gives %d of 1000 fates again, another %d other ones", same, other)
	}
}
