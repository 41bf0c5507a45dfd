package main

import (
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
)

func askedAt(n int, verb, resource string) audit.Entry {
	e := asked(verb, resource, 200)
	e.At = at(n)
	return e
}

func TestThePhasesOfAReleaseAddUpToItsTime(t *testing.T) {
	entries := []audit.Entry{
		askedAt(-1, "get", "statefulsets"), // of the visit before
		askedAt(1, "get", "statefulsets"), askedAt(3, "get", "pods"), askedAt(3, "get", "configmaps"),
		askedAt(10, "list", "poddisruptionbudgets"), askedAt(30, "get", "pods"), askedAt(31, "get", "pods"),
		askedAt(37, "patch", "statefulsets"), askedAt(45, "create", "events"), askedAt(52, "create", "events"),
		askedAt(70, "get", "statefulsets"),
	}
	release := step{kind: "release", began: at(0), outside: ms(60)}
	list := releasePhases([]step{{kind: "lock", began: at(100), outside: ms(10)}, release}, entries)
	for i, want := range []string{"10.0 ms", "20.0 ms", "7.0 ms", "8.0 ms", "15.0 ms", "1"} {
		if list[i].measured != want {
			t.Errorf("%+v, want %s", list[i], want)
		}
	}
	phases, ok := phasesOf(release, entries)
	sum := time.Duration(0)
	for _, p := range phases {
		sum += p
	}
	if !ok || sum != release.outside {
		t.Errorf("%v add up to %s", phases, sum)
	}
}

func TestAReleaseWithTwoLooksOrWithoutAPhaseIsLeftOut(t *testing.T) {
	one := []audit.Entry{askedAt(1, "get", "statefulsets"), askedAt(10, "list", "poddisruptionbudgets"),
		askedAt(30, "get", "pods"), askedAt(37, "patch", "statefulsets"), askedAt(45, "create", "events")}
	release := step{kind: "release", began: at(0), outside: ms(60)}
	if _, ok := phasesOf(release, one); !ok {
		t.Fatal("a whole one is left out")
	}
	if phases, ok := phasesOf(release, append([]audit.Entry{askedAt(0, "get", "statefulsets")}, one...)); ok {
		t.Errorf("two looks: %v", phases)
	}
	if phases, ok := phasesOf(release, one[:4]); ok {
		t.Errorf("no Events: %v", phases)
	}
}
