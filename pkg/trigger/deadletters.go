package trigger

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"unicode"

	"github.com/etcdroll/etcdroll/pkg/events"
)

const (
	// maxDeadLetter bounds what is read of one dead letter. Ours are below 1 KB; a malformed one may be anything.
	maxDeadLetter = 64 << 10
	// maxLogged bounds each foreign value in a log line.
	maxLogged = 200
)

// deadLetters takes what a broker could not deliver, logs who it was for and why, and counts it. Nothing is done about
// the set: the sweep asks about it anyway. It never refuses, or the broker would try again for nothing.
func deadLetters(m *Metrics, log *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e, err := events.Decode(r.Header, r.Body, maxDeadLetter)
		switch {
		case err == nil:
			m.DeadLetter(e.Type())
			log.Error("an event was not delivered", "type", logged(e.Type()), "id", logged(e.ID()), "subject", logged(e.Subject()),
				"destination", logged(extension(e.Extensions(), "knativeerrordest")), "code", logged(extension(e.Extensions(), "knativeerrorcode")))
		default:
			m.DeadLetter("")
			log.Error("an event was not delivered, and it cannot be read", "detail", logged(err.Error()), "tooLarge", errors.Is(err, events.ErrTooLarge))
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func extension(all map[string]any, name string) string {
	text, _ := all[name].(string)
	return text
}

// logged makes a value from outside fit for a log line.
func logged(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return s[:min(len(s), maxLogged)]
}
