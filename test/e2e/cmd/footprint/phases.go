package main

import (
	"fmt"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
)

// phaseNames are what a release does, one after the other, and the request with
// which each begins at the API server.
var phaseNames = []struct{ what, begins string }{
	{"reading the set, its pods and the configuration", sets},
	{"reading budgets and asking every member", budgets},
	{"reading the pods that stay again and asking the victim whether it leads", pods},
	{"the patch of the set", patches},
	{"recording Events, and the answer", "create events"},
}

const releases = "release"

// releasePhases is the middle of each phase over the releases that needed one
// look. The entries are the function's requests meanwhile.
func releasePhases(steps []step, entries []audit.Entry) []figure {
	took := make([][]time.Duration, len(phaseNames))
	complete := 0
	for _, s := range steps {
		if s.kind != releases {
			continue
		}
		if phases, ok := phasesOf(s, entries); ok {
			complete++
			for i, p := range phases {
				took[i] = append(took[i], p)
			}
		}
	}
	var list []figure
	for i, name := range phaseNames {
		list = append(list, plain(name.what, millis(percentile(took[i], 50))))
	}
	return append(list, plain("releases that these are the middle of", fmt.Sprint(complete)))
}

// phasesOf cuts the time of a visit at the first request of each phase. The
// first phase begins with the visit, the last one ends with it.
func phasesOf(s step, entries []audit.Entry) ([]time.Duration, bool) {
	end := s.began.Add(s.outside)
	next, looks := 0, 0
	cuts := make([]time.Time, 0, len(phaseNames)+1)
	for _, e := range entries {
		if e.At.Before(s.began) || e.At.After(end) {
			continue
		}
		kind := kindOf(e)
		if kind == others {
			kind = e.Verb + " " + e.Object.Resource
		}
		if kind == sets {
			looks++
		}
		if next < len(phaseNames) && kind == phaseNames[next].begins {
			cuts = append(cuts, e.At)
			next++
		}
	}
	if looks != 1 || next < len(phaseNames) {
		return nil, false
	}
	cuts[0] = s.began
	cuts = append(cuts, end)
	var phases []time.Duration
	for i := range phaseNames {
		phases = append(phases, cuts[i+1].Sub(cuts[i]))
	}
	return phases, true
}
