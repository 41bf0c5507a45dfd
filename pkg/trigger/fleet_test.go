package trigger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func waiting(key string) Contender {
	return Contender{Key: key, Diverged: true, Disruptive: true, Since: noon}
}

func with(c Contender, change func(*Contender)) Contender { change(&c); return c }

func TestMayStart(t *testing.T) {
	a, b := waiting("a"), waiting("b")
	rolling := with(b, func(c *Contender) { c.Rolling = true })
	for name, c := range map[string]struct {
		fleet    []Contender
		limit    int
		approval bool
		want     string // beginning of what "a" waits for
	}{
		"no limit":                    {[]Contender{a, b, rolling}, 0, false, ""},
		"a free place":                {[]Contender{a, rolling}, 2, false, ""},
		"no free place":               {[]Contender{a, rolling}, 1, false, "a free place: 1 of 1"},
		"let start counts":            {[]Contender{a, with(b, func(c *Contender) { c.LetStart = true })}, 1, false, "a free place"},
		"itself rolling":              {[]Contender{with(a, func(c *Contender) { c.Rolling = true }), rolling}, 1, false, ""},
		"itself let start":            {[]Contender{with(a, func(c *Contender) { c.LetStart = true }), rolling}, 1, false, ""},
		"nothing to disrupt":          {[]Contender{with(a, func(c *Contender) { c.Disruptive = false }), rolling}, 1, false, ""},
		"older goes first":            {[]Contender{a, with(b, func(c *Contender) { c.Since = noon.Add(-time.Hour) })}, 1, false, "a free place"},
		"younger goes later":          {[]Contender{a, with(b, func(c *Contender) { c.Since = noon.Add(time.Hour) })}, 1, false, ""},
		"priority goes before age":    {[]Contender{a, with(b, func(c *Contender) { c.Since = noon.Add(time.Hour); c.Priority = 1 })}, 1, false, "a free place"},
		"name decides":                {[]Contender{a, b}, 1, false, ""},
		"standing set is passed by":   {[]Contender{a, with(b, func(c *Contender) { c.Since = noon.Add(-time.Hour); c.Standing = true })}, 1, false, ""},
		"lower wave unfinished":       {[]Contender{with(a, func(c *Contender) { c.Wave = 2 }), b}, 0, false, "wave 0"},
		"lower wave halted":           {[]Contender{with(a, func(c *Contender) { c.Wave = 2 }), with(b, func(c *Contender) { c.Standing = true })}, 0, false, "wave 0"},
		"lower wave finished":         {[]Contender{with(a, func(c *Contender) { c.Wave = 2 }), {Key: "b"}}, 0, false, ""},
		"higher wave rolls":           {[]Contender{a, with(rolling, func(c *Contender) { c.Wave = 2 })}, 1, false, "a free place"},
		"approval missing":            {[]Contender{a}, 0, true, "approval"},
		"approved":                    {[]Contender{with(a, func(c *Contender) { c.Approved = true })}, 0, true, ""},
		"unapproved holds nobody":     {[]Contender{with(a, func(c *Contender) { c.Approved = true }), with(b, func(c *Contender) { c.Since = noon.Add(-time.Hour) })}, 1, true, ""},
		"approval not for the begun":  {[]Contender{with(a, func(c *Contender) { c.Rolling = true })}, 0, true, ""},
		"approval not for the locked": {[]Contender{with(a, func(c *Contender) { c.Disruptive = false })}, 0, true, ""},
		"unknown":                     {[]Contender{b}, 1, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := mayStart("a", c.fleet, c.limit, c.approval)
			if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("waits for %q, want %q", got, c.want)
			}
		})
	}
}

var anyContender = rapid.Custom(func(t *rapid.T) Contender {
	c := Contender{
		Wave: rapid.IntRange(0, 2).Draw(t, "wave"), Priority: rapid.IntRange(0, 1).Draw(t, "priority"),
		Since: noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "since")) * time.Second), Diverged: rapid.Bool().Draw(t, "diverged"),
	}
	if c.Diverged {
		c.Disruptive, c.Rolling = rapid.Bool().Draw(t, "disruptive"), rapid.Bool().Draw(t, "rolling")
		c.LetStart, c.Standing = rapid.Bool().Draw(t, "let"), rapid.Bool().Draw(t, "standing")
	}
	return c
})

func anyFleet(t *rapid.T) []Contender {
	fleet := rapid.SliceOfN(anyContender, 1, 8).Draw(t, "fleet")
	for i := range fleet {
		fleet[i].Key = fmt.Sprintf("ns/%d", i)
	}
	return fleet
}

func holders(fleet []Contender) (n int) {
	for _, c := range fleet {
		if c.Rolling || c.LetStart {
			n++
		}
	}
	return n
}

// TestPropertyFleetLimitHolds lets everybody start who may, in any order: never do more than limit hold a place unless
// more were rolling before, and the lowest unfinished wave is never left waiting with a place free.
func TestPropertyFleetLimitHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleet, limit := anyFleet(t), rapid.IntRange(1, 4).Draw(t, "limit")
		before := holders(fleet)
		for _, i := range rapid.Permutation(indexes(fleet)).Draw(t, "order") {
			if needsPlace(fleet[i]) && mayStart(fleet[i].Key, fleet, limit, false) == "" {
				fleet[i].LetStart = true
			}
		}
		if after := holders(fleet); after > max(limit, before) {
			t.Fatalf("%d hold a place, %d did before, the limit is %d", after, before, limit)
		}
		for range fleet { // those in front of the queue may have come last in the order
			for i := range fleet {
				if needsPlace(fleet[i]) && mayStart(fleet[i].Key, fleet, limit, false) == "" {
					fleet[i].LetStart = true
				}
			}
		}
		for _, c := range fleet {
			if needsPlace(c) && c.Wave == lowestWave(fleet) && holders(fleet) < limit {
				t.Fatalf("%s waits although %d of %d places are free", c.Key, limit-holders(fleet), limit)
			}
		}
	})
}

func TestPropertyNoSetStartsBeforeALowerWaveIsFinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleet := anyFleet(t)
		for _, c := range fleet {
			if needsPlace(c) && c.Wave > lowestWave(fleet) && mayStart(c.Key, fleet, 0, false) == "" {
				t.Fatalf("%s of wave %d starts while wave %d is unfinished", c.Key, c.Wave, lowestWave(fleet))
			}
		}
	})
}

func lowestWave(fleet []Contender) int {
	lowest := 99
	for _, c := range fleet {
		if c.Diverged {
			lowest = min(lowest, c.Wave)
		}
	}
	return lowest
}

func indexes(fleet []Contender) (all []int) {
	for i := range fleet {
		all = append(all, i)
	}
	return all
}
