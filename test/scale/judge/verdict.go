package judge

import (
	"cmp"
	"maps"
	"slices"
)

// Verdict is what the journal says.
type Verdict struct {
	// Most is the largest number of sets in a roll at one moment; Which are they.
	Most  int
	Which []string
	// Rolled counts the sets that were in a roll at some time.
	Rolled int
	// Unfinished are sets that are not converged, locked and marked in the end.
	Unfinished []string
	// Changes counts what was seen.
	Changes int
	// Began and Ended are, for each set that rolled, the positions in that history
	// at which it was first seen in a roll, and last seen to have finished.
	Began, Ended map[string]int
}

// Close ends the watches.
func (j *Judge) Close() {
	j.stop()
	j.wait.Wait()
}

// Verdict puts everything so far into order and goes through it.
func (j *Judge) Verdict() (Verdict, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	journal := slices.Clone(j.journal)
	slices.SortStableFunc(journal, func(a, b entry) int { return cmp.Compare(a.revision, b.revision) })
	now := map[string]state{}
	for name, s := range j.start {
		s.pods = maps.Clone(s.pods)
		now[name] = s
	}
	v := Verdict{Changes: len(journal), Began: map[string]int{}, Ended: map[string]int{}}
	rolling, ever := map[string]bool{}, map[string]bool{}
	for name, s := range now {
		mark(rolling, ever, name, s)
	}
	v.note(rolling)
	for at, e := range journal {
		s := now[e.set]
		before := s.finished()
		e.apply(&s)
		now[e.set] = s
		if mark(rolling, ever, e.set, s); rolling[e.set] {
			if _, known := v.Began[e.set]; !known {
				v.Began[e.set] = at
			}
		}
		if s.finished() && !before {
			v.Ended[e.set] = at
		}
		v.note(rolling)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if !now[name].finished() {
			v.Unfinished = append(v.Unfinished, name)
		}
	}
	v.Rolled = len(ever)
	return v, j.broken
}

func mark(rolling, ever map[string]bool, name string, s state) {
	if s.rolls() {
		rolling[name], ever[name] = true, true
	} else {
		delete(rolling, name)
	}
}

func (v *Verdict) note(rolling map[string]bool) {
	if len(rolling) > v.Most {
		v.Most, v.Which = len(rolling), slices.Sorted(maps.Keys(rolling))
	}
}

// rolls says that somebody has begun and not ended: the set is open, a pod is
// away, its pods are of two revisions, or the function says that it rolls. A
// set that is locked, with all its pods at the old revision, has not begun.
func (s state) rolls() bool {
	revisions := map[string]bool{}
	for _, revision := range s.pods {
		revisions[revision] = true
	}
	return s.partition < s.replicas || len(s.pods) < int(s.replicas) || len(revisions) > 1 || s.phase == "Rolling"
}

func (s state) finished() bool {
	for _, revision := range s.pods {
		if revision != s.target {
			return false
		}
	}
	return !s.rolls() && s.convergedOn == s.target && s.phase == "Converged"
}
