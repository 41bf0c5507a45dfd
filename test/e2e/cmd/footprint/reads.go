package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
)

// kinds of request that a look consists of.
const (
	sets    = "get statefulsets"
	pods    = "get pods"
	named   = "get named objects"
	budgets = "list poddisruptionbudgets"
	patches = "patch statefulsets"
	others  = "other"
)

// held is how often a step of a set of three may make each kind of request. The
// two pods that stay are read a second time before one is given up.
var held = []struct {
	kind, what  string
	least, most int
}{
	{sets, "a step reads: the set", 1, 1},
	{pods, "a step reads: pods, of three", 3, 5},
	{named, "a step reads: named objects", 0, 2},
	{budgets, "a step reads: budget lists", 0, 1},
	{patches, "a step writes: patches of the set", 1, 1},
}

func kindOf(e audit.Entry) string {
	switch key := e.Verb + " " + e.Object.Resource; key {
	case patches:
		if e.Response.Code >= 300 {
			return others // a lost race takes no step
		}
		return key
	case sets, pods, budgets:
		return key
	case "get secrets", "get configmaps":
		return named
	}
	return others
}

// reads groups the requests of one set's rolls into looks, each of which begins
// with reading the set, and counts what those looks read that took a step.
func reads(entries []audit.Entry) []figure {
	looks, strange := looksOf(entries)
	steps := 0
	least, most := map[string]int{}, map[string]int{}
	for _, look := range looks {
		if look[patches] == 0 {
			continue
		}
		for _, h := range held {
			if steps == 0 || look[h.kind] < least[h.kind] {
				least[h.kind] = look[h.kind]
			}
			most[h.kind] = max(most[h.kind], look[h.kind])
		}
		steps++
	}
	var list []figure
	for _, h := range held {
		list = append(list, figure{h.what, span(least[h.kind], most[h.kind]), span(h.least, h.most),
			steps > 0 && h.least <= least[h.kind] && most[h.kind] <= h.most})
	}
	return append(list, plain("looks that took a step, of all looks", fmt.Sprintf("%d of %d", steps, len(looks))),
		plain("other requests meanwhile", counted(strange)))
}

// counted is "2 patch statefulsets 409, 1 ...", in alphabetical order of what.
func counted(of map[string]int) string {
	var list []string
	for _, what := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("%d × %s", of[what], what))
	}
	return strings.Join(list, ", ")
}

func span(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// looksOf counts by kind. What is of no look is told by its verb, resource and
// answer.
func looksOf(entries []audit.Entry) (looks []map[string]int, strange map[string]int) {
	strange = map[string]int{}
	for _, e := range entries {
		kind := kindOf(e)
		if kind == sets {
			looks = append(looks, map[string]int{})
		}
		if kind == others {
			strange[fmt.Sprintf("%s %s %d", e.Verb, e.Object.Resource, e.Response.Code)]++
			continue
		}
		if len(looks) > 0 {
			looks[len(looks)-1][kind]++
		}
	}
	return looks, strange
}
