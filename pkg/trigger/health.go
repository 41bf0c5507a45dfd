package trigger

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health says whether the process is alive and whether it can do its work. The zero value is alive and not ready.
type Health struct {
	mu      sync.Mutex
	noSink  string
	synced  bool
	failing map[string]time.Time // sets whose last POST failed, and since when
	last    bool                 // whether the last POST of all worked
	sick    map[string]string    // what is wrong with a part that only a restart can mend
}

// NoSink makes the process unready for good, with the reason.
func (h *Health) NoSink(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noSink = reason
}

// Synced says that the caches are filled.
func (h *Health) Synced() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.synced = true
}

// Posted records how the last POST about a set went.
func (h *Health) Posted(key string, ok bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = ok
	if ok {
		delete(h.failing, key)
		return
	}
	if h.failing == nil {
		h.failing = map[string]time.Time{}
	}
	if _, already := h.failing[key]; !already {
		h.failing[key] = now
	}
}

// Forget drops a set that is gone, so that a failure about it does not stay for ever.
func (h *Health) Forget(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failing, key)
}

// Sick makes the process not alive on account of one part, so that it is restarted; an empty reason takes it back.
func (h *Health) Sick(part, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reason == "" {
		delete(h.sick, part)
		return
	}
	if h.sick == nil {
		h.sick = map[string]string{}
	}
	h.sick[part] = reason
}

// Alive is empty, or says why the process should be restarted.
func (h *Health) Alive() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worst()
}

func (h *Health) worst() string {
	return strings.Join(slices.Sorted(maps.Values(h.sick)), "; ")
}

// Ready is empty, or says why the process cannot do its work.
func (h *Health) Ready() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.noSink != "":
		return h.noSink
	case !h.synced:
		return "the caches are not filled yet"
	case len(h.failing) > 0 && !h.last:
		return fmt.Sprintf("the last POST to the sink failed (%d sets are waiting)", len(h.failing))
	}
	return h.worst()
}

// serve answers 200 "ok", or 503 with the reason.
func serve(state func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		reason := state()
		if reason != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, reason+"\n")
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	}
}
