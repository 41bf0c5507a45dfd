package trigger

import (
	"math"
	"slices"
	"sync"
)

// board holds the sets of the fleet that are unfinished. It is kept up to date change by change: to ask one set in ten
// thousand for its turn must not take a look at all of them.
//
// An entry is always made of the cache and the record as they are at that moment, while mu is held, so that a later
// state is never overwritten by an earlier one. A set that has changed and has not been looked at yet is noted as
// touched, and brought up to date before anybody is admitted; that is so for every set when the process starts.
type board struct {
	mu         sync.Mutex // held while a set is admitted, so that two never take the last place together
	unfinished []Contender
	at         map[string]int

	touchMu sync.Mutex // on its own, so that a watch never waits for an admission
	touched map[string]bool
}

func (b *board) touch(key string) {
	b.touchMu.Lock()
	defer b.touchMu.Unlock()
	if b.touched == nil {
		b.touched = map[string]bool{}
	}
	b.touched[key] = true
}

func (b *board) untouch(key string) {
	b.touchMu.Lock()
	defer b.touchMu.Unlock()
	delete(b.touched, key)
}

func (b *board) takeTouched() map[string]bool {
	b.touchMu.Lock()
	defer b.touchMu.Unlock()
	taken := b.touched
	b.touched = nil
	return taken
}

// place puts a contender in, or takes a finished one off, and says whether that may let another one start.
func (b *board) place(c Contender) (moved bool) {
	at, there := b.at[c.Key]
	switch {
	case !c.Diverged:
		return b.remove(c.Key)
	case there:
		before := b.unfinished[at]
		b.unfinished[at] = c
		return before != c && !c.Rolling && !c.LetStart
	}
	if b.at == nil {
		b.at = map[string]int{}
	}
	b.at[c.Key] = len(b.unfinished)
	b.unfinished = append(b.unfinished, c)
	return false
}

func (b *board) remove(key string) bool {
	at, there := b.at[key]
	if !there {
		return false
	}
	last := len(b.unfinished) - 1
	b.unfinished[at] = b.unfinished[last]
	b.at[b.unfinished[at].Key] = at
	b.unfinished = b.unfinished[:last]
	delete(b.at, key)
	return true
}

// next are the sets that were told to wait and may start now, as mayStart would say of each.
func (b *board) next(limits Limits) (keys []string) {
	wave, taken := math.MaxInt, 0
	for _, c := range b.unfinished {
		wave = min(wave, c.Wave)
		if c.Rolling || c.LetStart {
			taken++
		}
	}
	var waiting []Contender
	for _, c := range b.unfinished {
		if c.Wave == wave && needsPlace(c) && (c.Approved || !limits.RequireApproval) {
			waiting = append(waiting, c)
		}
	}
	slices.SortFunc(waiting, inOrder)
	for _, c := range waiting {
		if limits.MaxRolling > 0 && taken >= limits.MaxRolling {
			break
		}
		if c.Waits {
			keys = append(keys, c.Key)
		}
		if !c.Standing {
			taken++ // it goes ahead of those that follow
		}
	}
	return keys
}
