package trigger

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDeadLettersAreLoggedCountedAndNeverRefused(t *testing.T) {
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		counts string // label of the counter
		logs   []string
	}{
		"ours": {map[string]string{"Ce-Specversion": "1.0", "Ce-Type": "dev.etcdroll.rollout.resume.v1", "Ce-Id": "7", "Ce-Source": "/x", "Ce-Subject": "nobody\n{}",
			"Ce-Knativeerrorcode": "400", "Ce-Knativeerrordest": "http://fn"}, `{}`, "resume", []string{`"code":"400"`, `"destination":"http://fn"`, `"subject":"nobody`}},
		"foreign":   {map[string]string{"Ce-Specversion": "1.0", "Ce-Type": "com.example", "Ce-Id": "7", "Ce-Source": "/x"}, ``, "other", []string{"com.example"}},
		"garbage":   {nil, "garbage", "other", []string{"cannot be read"}},
		"oversized": {nil, strings.Repeat("x", maxDeadLetter+1), "other", []string{`"tooLarge":true`}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			m := NewMetrics()
			r := httptest.NewRequest(http.MethodPost, "/dead-letters", strings.NewReader(c.body))
			for k, v := range c.header {
				r.Header[k] = []string{v}
			}
			w := httptest.NewRecorder()
			deadLetters(m, slog.New(slog.NewJSONHandler(&log, nil)))(w, r)
			if w.Code != http.StatusAccepted || w.Body.Len() != 0 {
				t.Errorf("answered %d %q", w.Code, w.Body)
			}
			if got := metric(t, m, "etcdroll_dead_letters_total", c.counts); got != 1 {
				t.Errorf("counter %q is %v, want 1", c.counts, got)
			}
			if strings.Count(log.String(), "\n") != 1 || len(log.String()) > 1500 {
				t.Errorf("not one short line: %q", log.String())
			}
			for _, want := range c.logs {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%q is not in %q", want, log.String())
				}
			}
		})
	}
}
