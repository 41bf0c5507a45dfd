package trigger

import "time"

// Changed has a set looked at because something about it, or about its pods, has changed.
func (t *Trigger) Changed(key string) {
	t.board.touch(key)
	t.Schedule.Add(key)
}

// see takes another look at a set and brings what is remembered of it up to date; false if it is gone.
func (t *Trigger) see(key string, now time.Time) (before, after Record, ok bool) {
	before, after, ok, moved := t.look(key, now)
	if moved {
		t.callNext()
	}
	return before, after, ok
}

func (t *Trigger) look(key string, now time.Time) (before, after Record, ok, moved bool) {
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	t.board.untouch(key)
	set, pods, ok := t.Store.Look(key)
	if !ok {
		t.forget(key)
		return before, after, false, t.board.remove(key)
	}
	before = t.recall(key)
	before.Forced = t.takeForce(key) || before.Forced
	after = observe(before, set, Assess(*set, pods), now, t.Cadence)
	t.keep(key, after)
	return before, after, true, t.board.place(contender(after))
}

// settled keeps what an answer has left of a record.
func (t *Trigger) settled(key string, r Record) {
	t.keep(key, r)
	t.board.mu.Lock()
	moved := t.refresh(key, t.Clock.Now())
	t.board.mu.Unlock()
	if moved {
		t.callNext()
	}
}

// refresh makes an entry on the board anew. The caller holds the board.
func (t *Trigger) refresh(key string, now time.Time) (moved bool) {
	set, pods, ok := t.Store.Look(key)
	if !ok {
		return t.board.remove(key)
	}
	r := t.recall(key)
	r.Set, r.Assess = set, Assess(*set, pods)
	r.Queued = begin(r.Queued, r.Assess.Diverged, now)
	return t.board.place(contender(r))
}

// admit asks the fleet whether the set may go on. An open set that may not start is asked about all the same, to be
// locked and no more.
func (t *Trigger) admit(key string, r Record, now time.Time) (after Record, lockOnly, may bool) {
	if !needsPlace(contender(r)) {
		return r, false, true
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	for touched := range t.board.takeTouched() {
		t.refresh(touched, now)
	}
	r.Waiting = mayStart(key, t.board.unfinished, t.Limits.MaxRolling, t.Limits.RequireApproval)
	if r.Waiting == "" {
		r.LetStart = now
	}
	t.keep(key, r)
	t.refresh(key, now)
	lockOnly = r.Waiting != "" && r.Assess.Open
	return r, lockOnly, r.Waiting == "" || lockOnly
}

// callNext has those looked at that wait and may start now.
func (t *Trigger) callNext() {
	t.board.mu.Lock()
	keys := t.board.next(t.Limits)
	t.board.mu.Unlock()
	for _, key := range keys {
		t.Schedule.Add(key)
	}
}
