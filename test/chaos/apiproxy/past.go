package apiproxy

import (
	"net/http"
	"time"
)

// remember keeps an answer for as long as one from the past may be wanted.
func (p *Proxy) remember(uri string, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.past[uri]
	for len(kept) > 0 && time.Since(kept[0].at) > Remembered {
		kept = kept[1:]
	}
	p.past[uri] = append(kept, a)
}

// remembered is the youngest answer that is old enough. Its date is today's: it
// is the object that is old, as in a cache that lags.
func (p *Proxy) remembered(uri string, now time.Time) (answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.age == 0 || !changeable(uri) {
		return answer{}, false
	}
	kept := p.past[uri]
	for i := len(kept) - 1; i >= 0; i-- {
		if now.Sub(kept[i].at) >= p.age {
			old := kept[i]
			old.header = old.header.Clone()
			old.header.Set("Date", now.UTC().Format(http.TimeFormat))
			p.stale++
			return old, true
		}
	}
	return answer{}, false
}
