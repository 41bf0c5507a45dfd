package judge

import (
	"slices"
	"testing"
)

func set(partition int32, phase, target, converged string) func(*state) {
	return func(s *state) {
		s.replicas, s.partition, s.phase, s.target, s.convergedOn = 1, partition, phase, target, converged
	}
}

func pod(revision string) func(*state) {
	return func(s *state) { s.pods["p"] = revision }
}

func begin(names ...string) *Judge {
	j := &Judge{start: map[string]state{}}
	for _, name := range names {
		s := state{pods: map[string]string{}}
		set(1, "Converged", "new", "old")(&s)
		pod("old")(&s)
		j.start[name] = s
	}
	return j
}

func TestTwoWatchesAreOneHistory(t *testing.T) {
	j := begin("a", "b")
	// What the two watches brought, each in its own order: a has ended before b begins.
	j.journal = []entry{
		{10, "a", set(0, "Rolling", "new", "old")}, {13, "a", set(1, "Converged", "new", "new")},
		{14, "b", set(0, "Rolling", "new", "old")}, {17, "b", set(1, "Converged", "new", "new")},
		{11, "a", func(s *state) { delete(s.pods, "p") }}, {12, "a", pod("new")},
		{15, "b", func(s *state) { delete(s.pods, "p") }}, {16, "b", pod("new")},
	}
	v, err := j.Verdict()
	if err != nil || v.Most != 1 || v.Rolled != 2 || len(v.Unfinished) != 0 || v.Changes != 8 {
		t.Errorf("%+v, %v", v, err)
	}
	if v.Began["a"] != 0 || v.Ended["a"] != 3 || v.Began["b"] != 4 || v.Ended["b"] != 7 {
		t.Errorf("a and b began at %v and ended at %v", v.Began, v.Ended)
	}
}

func TestSetsInARollAreCounted(t *testing.T) {
	for name, disturb := range map[string]func(*state){
		"open":          set(0, "Converged", "new", "old"),
		"pod away":      func(s *state) { delete(s.pods, "p") },
		"two revisions": func(s *state) { s.pods["q"] = "new" },
		"says so":       set(1, "Rolling", "new", "old"),
	} {
		j := begin("a", "b", "c")
		j.journal = []entry{{1, "a", disturb}, {2, "b", set(0, "Rolling", "new", "old")}}
		v, err := j.Verdict()
		if err != nil || v.Most != 2 || !slices.Equal(v.Which, []string{"a", "b"}) || !slices.Equal(v.Unfinished, []string{"a", "b", "c"}) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}
