package main

import (
	"fmt"

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

// reads groups the requests of one set's roll into looks, each of which begins
// with reading the set, and counts what those looks read that took a step.
func reads(entries []audit.Entry) []figure {
	var looks []map[string]int
	strange := map[string]int{}
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
	steps := 0
	least, most := map[string]int{}, map[string]int{}
	for _, look := range looks {
		if look[patches] == 0 {
			continue
		}
		for _, kind := range []string{sets, pods, named, budgets, patches} {
			if steps == 0 || look[kind] < least[kind] {
				least[kind] = look[kind]
			}
			most[kind] = max(most[kind], look[kind])
		}
		steps++
	}
	span := func(kind string) string { return fmt.Sprintf("%d to %d", least[kind], most[kind]) }
	return []figure{
		{"a step reads: sets", span(sets), "1"},
		{"a step reads: pods, of three", span(pods), "3"},
		{"a step reads: named objects", span(named), "at most 2"},
		{"a step reads: budget lists", span(budgets), "at most 1"},
		{"a step writes: patches of the set", span(patches), "1"},
		{"steps, and looks in all", fmt.Sprintf("%d of %d", steps, len(looks)), ""},
		{"other requests during the roll", fmt.Sprint(strange), ""},
	}
}
