package sim

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
)

// fleet walks the seeds from first on, on all cores, until count is reached
// or too many have failed. It gives the first failures in the order of their
// seeds: seeds are taken in order and every one taken is walked to its end, so
// which these are does not depend on timing.
func fleet(first uint64, count int, what decide, most int) (*coverage, []result) {
	var next, failed atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	total, failures := newCoverage(), []result(nil)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			own := newCoverage()
			for failed.Load() < int64(most) {
				k := next.Add(1) - 1
				if k >= int64(count) {
					break
				}
				r := walk(first+uint64(k), what, false)
				own.add(r.seen)
				if r.broken != nil {
					failed.Add(1)
					mu.Lock()
					failures = append(failures, r)
					mu.Unlock()
				}
			}
			mu.Lock()
			total.add(own)
			mu.Unlock()
		})
	}
	group.Wait()
	sort.Slice(failures, func(i, j int) bool { return failures[i].seed < failures[j].seed })
	return total, failures[:min(most, len(failures))]
}
