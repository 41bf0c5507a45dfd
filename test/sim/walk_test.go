package sim

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestRandomWalks(t *testing.T) {
	walks := 20000
	if testing.Short() {
		walks = 1000
	}
	if s := os.Getenv("SIM_WALKS"); s != "" {
		walks, _ = strconv.Atoi(s)
	}
	start := time.Now()
	seen, failures := fleet(1, walks, theProduct(), 20)
	t.Logf("%d walks, %d ticks, %d runs, %d writes in %s", seen.walks, seen.ticks, seen.runs, seen.writes, time.Since(start))
	for _, m := range []map[string]int{seen.rules, seen.reasons, seen.gates, seen.ends, seen.counts} {
		t.Log(table(m))
	}
	t.Log(seen.mostTicks, seen.mostWrites)
	for _, f := range failures {
		t.Errorf("seed %d: %s at tick %d: %s", f.seed, f.broken.invariant, f.broken.tick, f.broken.text)
	}
}

func TestReplay(t *testing.T) {
	s := os.Getenv("SIM_SEED")
	if s == "" {
		t.Skip("set SIM_SEED to replay a walk")
	}
	seed, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	r := walk(seed, theProduct(), true)
	fmt.Println(r.about)
	fmt.Println(strings.Join(r.tale.lines, "\n"))
	fmt.Println("end:", r.end)
	if r.broken != nil {
		t.Fatalf("%s: %s", r.broken.invariant, r.broken.text)
	}
}

func table(m map[string]int) string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "\n  %9d  %s", m[k], k)
	}
	return b.String()
}
