package sim

import (
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// isOpen says that the controller may replace pods by itself.
func (w *world) isOpen() bool { return w.strategy == guard.RollingUpdate && w.set.open() }

// accept is the API server's side of the function's write: all of it, or a
// conflict.
func (w *world) accept(f *function, d roll.Decision) bool {
	if f.set.rv != w.set.rv && !w.unfenced {
		return false
	}
	before := w.set
	s, wr := &w.set, d.Write
	record := w.annotated(wr.Record)
	s.rv++
	s.status, s.record = wr.Status, &record
	if wr.ClearResume {
		s.resume = ""
	}
	if wr.HandBack {
		s.claims = false
	}
	if wr.SetPartition {
		s.claims = true
		w.setPartition(wr.Partition, true)
		if s.episode != nil {
			s.episode.opened = f.nowAt // as the record counts it
		}
	}
	if d.Effect.Kind == roll.MoveLeader {
		w.ledger.announced++
	}
	w.ledger.writes++
	if w.telling() {
		w.tell("write accepted as rv %d: partition %d, phase %s, reason %s", s.rv, s.partition, s.status.Phase, s.status.Reason)
	}
	w.judgeWrite(f, &before)
	return true
}

// setPartition changes the spec and begins or ends an episode.
func (w *world) setPartition(p int, ours bool) {
	s := &w.set
	if p == s.partition || w.strategy != guard.RollingUpdate {
		return
	}
	s.partition = p
	s.gen++
	s.episode = nil
	if s.open() {
		s.episode = &episode{ours: ours, index: p, opened: w.tick}
	}
}
