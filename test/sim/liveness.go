package sim

// tailVisits bounds the events that a function is given from the last fault
// until the last change before the set rests: I5 as its callers see it.
//
// Each change of the set or of a pod makes the watcher send one event, and
// each visit that ends in waiting makes one more, due a second (four ticks)
// later, until a step makes all chains but one stale. While a pod is replaced
// it and the set change about sixteen times; of the chains that this starts
// four or five outlive the last step, and a replacement takes at most a
// hundred ticks (tailTicks), or 25 visits for each of them: 16 + 16 stale
// ones + 5*25 < 160 a replica. Besides, once in a tail the ready and health
// deadlines (38 s) may have to pass for up to eight chains: 8*38 < 310.
func tailVisits(n int) int { return 310 + 160*n }

// judgeVisits holds a tail to its bound; a channel that stays bad doubles
// events, and what it drops takes longer.
func (w *world) judgeVisits(visits int, when string) {
	n, most := w.n(), tailVisits(w.n())
	if w.badChannel() {
		most *= 2
	} else {
		w.seen.mostVisits[n] = max(w.seen.mostVisits[n], visits)
	}
	if visits > most {
		w.breaks(i5, "%d visits %s, %d replicas", visits, when, n)
	}
}
