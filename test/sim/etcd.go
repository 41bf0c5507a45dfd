package sim

// growth is how many entries the cluster commits per tick.
const growth = 3

// lateTransfer is a leader transfer that completes after its caller gave up.
type lateTransfer struct{ from, to, due int }

// etcd lets raft do its work for one tick. Members check quorum and ask for
// pre-votes, so a member that comes back never raises the term by itself.
func (w *world) etcd() {
	if w.tick >= w.late.due {
		w.transfer(w.late.from, w.late.to)
		w.late.due = never
	}
	up, quorum := 0, w.n()/2+1
	for i := range w.n() {
		if w.members[i].up() {
			up++
		}
	}
	if w.leader >= 0 && (!w.members[w.leader].up() || up < quorum) {
		w.dethrone()
	}
	if w.leader < 0 && up >= quorum && w.tick >= w.electionAt {
		w.crown(w.electable())
	}
	if w.leader >= 0 {
		if up > 1 && w.goes(driftLeader) {
			w.drift()
		}
		w.commit += growth
	}
	for i := range w.n() {
		w.follow(i)
	}
}

// follow updates what member i believes and lets it catch up.
func (w *world) follow(i int) {
	m := &w.members[i]
	if !m.up() {
		return
	}
	if m.lag > 0 && w.leader >= 0 && !w.chance(0.1) {
		m.lag -= min(m.lag, uint64(w.between(20, 200)))
	}
	if m.leader != w.leader || m.term != w.term {
		if i == w.leader || w.calm || w.chance(0.7) {
			m.leader, m.term = w.leader, w.term
		}
	}
}

func (w *world) dethrone() {
	w.leader = noPod
	w.electionAt = w.tick + w.between(4, 8)
	if w.telling() {
		w.tell("the leader is lost")
	}
}

// electable is a member whose log lacks nothing that was committed.
func (w *world) electable() int {
	best, ties := noPod, 0
	for i := range w.n() {
		m := &w.members[i]
		if !m.up() {
			continue
		}
		switch {
		case best < 0 || m.lag < w.members[best].lag:
			best, ties = i, 1
		case m.lag == w.members[best].lag:
			ties++
			if w.IntN(ties) == 0 {
				best = i
			}
		}
	}
	return best
}

func (w *world) crown(i int) {
	w.leader = i
	w.term++
	if w.rough && w.chance(0.05) {
		w.term++ // a split vote
	}
	w.members[i].lag = 0
	if w.telling() {
		w.tell("%s leads in term %d", podName(i), w.term)
	}
}

// drift is a change of leadership that nobody we know asked for.
func (w *world) drift() {
	to := w.IntN(w.n())
	if to != w.leader && w.members[to].up() && w.members[to].lag == 0 {
		w.tellIf("leadership drifts")
		w.crown(to)
	}
}

// transfer moves leadership on request of from's client.
func (w *world) transfer(from, to int) bool {
	if from < 0 || to < 0 || w.leader != from || !w.members[from].up() || !w.members[to].up() || w.members[to].lag > 0 || from == to {
		return false
	}
	w.leader = to
	w.term++
	w.tellIf("leadership is transferred to " + podName(to))
	return true
}

// stopMember ends the process. etcd hands leadership over by itself when it
// is given the time.
func (w *world) stopMember(i int) {
	m := &w.members[i]
	m.process, m.leader = false, noPod
	if w.leader != i {
		return
	}
	w.dethrone()
	if heir := w.electable(); heir >= 0 && w.members[heir].lag == 0 && w.chance(0.6) && w.quorate() {
		w.crown(heir)
	}
}

func (w *world) quorate() bool {
	up := 0
	for i := range w.n() {
		if w.members[i].up() {
			up++
		}
	}
	return up >= w.n()/2+1
}

func (w *world) joinMember(i int) {
	m := &w.members[i]
	m.process = true
	m.lag = [...]uint64{0, 10, 200, 1500}[w.IntN(4)]
	if w.calm {
		m.lag = 60
	}
	if w.rough && w.chance(0.02) {
		m.lag = 9000
	}
	if w.n() == 1 {
		m.lag = 0
	}
	w.tellIf("member " + podName(i) + " joins")
}

// near is how far behind a member may be and still count as caught up: what
// is committed while a probe is under way.
const near = 10 * growth

// healthy is the truth about member i that the invariants go by.
func (w *world) healthy(i int) bool {
	m := &w.members[i]
	return w.pods[i].usable() && m.up() && m.lag <= near
}
