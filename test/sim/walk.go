package sim

// result is how a walk ended.
type result struct {
	seed   uint64
	end    string
	broken *violation
	seen   *coverage
	tale   *tale
	about  string
}

// walk runs one seed: first with faults, then without, until the set has
// converged or stands still with a reason; in the latter case the cause is
// mended and it has to converge after all.
func walk(seed uint64, what decide, tell bool) result {
	w := newWorld(seed, what)
	if tell {
		w.tale = &tale{}
	}
	w.rough = !w.calm
	w.pass(w.profile.rough, func() bool { return false })
	end := "broken"
	if w.ledger.broken == nil {
		end = w.tail()
	}
	w.seen.walks, w.seen.ticks, w.seen.writes = 1, w.tick, w.ledger.writes
	w.seen.ends[end]++
	return result{seed: seed, end: end, broken: w.ledger.broken, seen: w.seen, tale: w.tale, about: w.profile.String()}
}

// pass lets ticks go by until the condition holds or an invariant breaks. It
// reports whether the condition came to hold.
func (w *world) pass(ticks int, until func() bool) bool {
	last := ""
	for range ticks {
		w.step()
		if w.telling() {
			if now := w.state(); now != last {
				last = now
				w.tell("    %s", now)
			}
		}
		if w.ledger.broken != nil {
			return false
		}
		if until() {
			return true
		}
	}
	return false
}
