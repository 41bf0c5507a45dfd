package events

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

func send(t *testing.T, c SinkConfig, handler http.HandlerFunc) (Answer, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c.URL = server.URL
	sender, err := NewSender(c)
	if err != nil {
		t.Fatal(err)
	}
	return sender.Send(context.Background(), NewDiverged(etcd, divergence(), noon), true)
}

func TestSendIsABinaryModePost(t *testing.T) {
	var got *http.Request
	var body []byte
	answer, err := send(t, SinkConfig{}, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	})
	if err != nil || answer.Status != http.StatusAccepted || answer.Reply != nil || answer.ReplyErr != nil {
		t.Fatalf("%+v, %v", answer, err)
	}
	for name, want := range map[string]string{
		"Ce-Type": TypeDiverged, "Ce-Subject": "prod/etcd", "Ce-Partitionkey": "prod/etcd", "Prefer": "reply",
		"Ce-Sequence": FormatSequence(7), "Content-Type": "application/json", "Ce-Specversion": "1.0", "Authorization": "",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
		}
	}
	var d Diverged
	if err := json.Unmarshal(body, &d); err != nil || d != divergence() || got.Method != http.MethodPost {
		t.Errorf("%s %s: %v", got.Method, body, err)
	}
}

func TestReplyEventComesBack(t *testing.T) {
	want := NewContinue(etcd, 8, noon, noon.Add(time.Second), nil)
	answer, err := send(t, SinkConfig{}, func(w http.ResponseWriter, r *http.Request) {
		_ = cehttp.WriteResponseWriter(r.Context(), binding.ToMessage(&want), http.StatusOK, w)
	})
	if err != nil || answer.Reply == nil {
		t.Fatalf("%+v, %v", answer, err)
	}
	got, err := Parse(*answer.Reply)
	if err != nil || got.Kind != KindContinue || got.Seq != 8 || !got.NotBefore.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEveryStatusIsAnAnswer(t *testing.T) {
	for _, status := range []int{200, 202, 400, 403, 415, 429, 500, 502, 503} {
		answer, err := send(t, SinkConfig{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "because\r\nof\x00this")
		})
		if err != nil || answer.Status != status || answer.RetryAfter != 7*time.Second || answer.Text != "because  of this" {
			t.Errorf("%d: %+v, %v", status, answer, err)
		}
		if answer.Accepted() != (status < 300) {
			t.Errorf("%d: accepted is %t", status, answer.Accepted())
		}
	}
}

func TestRetryAfterDateIsRelativeToTheAnswer(t *testing.T) {
	h := http.Header{}
	h.Set("Date", "Mon, 30 Nov 2026 12:00:00 GMT")
	h.Set("Retry-After", "Mon, 30 Nov 2026 12:00:30 GMT")
	if got := retryAfter(h); got != 30*time.Second {
		t.Errorf("got %s", got)
	}
	for _, odd := range []string{"", "soon", "-5", "Mon, 30 Nov 2020 12:00:30 GMT"} {
		h.Set("Retry-After", odd)
		if got := retryAfter(h); got != 0 {
			t.Errorf("%q: %s", odd, got)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	answer, err := send(t, SinkConfig{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if err != nil || answer.Status != http.StatusTemporaryRedirect || followed {
		t.Errorf("%+v, %v, followed %t", answer, err, followed)
	}
}

func TestOversizedAndBrokenRepliesAreReportedNotBelieved(t *testing.T) {
	for name, write := range map[string]func(w http.ResponseWriter){
		"oversized": func(w http.ResponseWriter) { _, _ = w.Write(bytes.Repeat([]byte("x"), maxAnswer+1)) },
		"broken": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/cloudevents+json")
			_, _ = io.WriteString(w, "{")
		},
		"incomplete": func(w http.ResponseWriter) { w.Header().Set("Ce-Specversion", "1.0") },
		"nameless": func(w http.ResponseWriter) {
			w.Header()["Ce-"] = []string{"x"}
			w.Header().Set("Ce-Specversion", "1.0")
		},
	} {
		answer, err := send(t, SinkConfig{}, func(w http.ResponseWriter, _ *http.Request) { write(w) })
		if err != nil || answer.Reply != nil || answer.ReplyErr == nil || !answer.Accepted() {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
	}
}

func TestEachTryHasItsDeadline(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	_, err := send(t, SinkConfig{Try: 30 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestOverridesAddExtensions(t *testing.T) {
	var got http.Header
	c := SinkConfig{Overrides: `{"extensions":{"team":"storage","partitionkey":"one"}}`}
	if _, err := send(t, c, func(_ http.ResponseWriter, r *http.Request) { got = r.Header }); err != nil {
		t.Fatal(err)
	}
	if got.Get("Ce-Team") != "storage" || got.Get("Ce-Partitionkey") != "one" {
		t.Errorf("%v", got)
	}
}

func TestTokenIsReadForEachPost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
	}))
	defer server.Close()
	sender, err := NewSender(SinkConfig{URL: server.URL, TokenPath: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "first\n", "second"} {
		want := ""
		if token != "" {
			want = "Bearer " + strings.TrimSpace(token)
			if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := sender.Send(context.Background(), NewResume(etcd, "x", noon), false); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}

func TestExtraCAIsTrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the first handshake is meant to fail
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for _, c := range []struct {
		ca string
		ok bool
	}{{"", false}, {string(ca), true}} {
		sender, err := NewSender(SinkConfig{URL: server.URL, CACerts: c.ca})
		if err != nil {
			t.Fatal(err)
		}
		_, err = sender.Send(context.Background(), NewResume(etcd, "x", noon), false)
		if (err == nil) != c.ok {
			t.Errorf("with extra CA %t: %v", c.ca != "", err)
		}
	}
}

func TestKN14_BadSinkSettingsAreNamed(t *testing.T) {
	if _, err := NewSender(SinkConfig{}); !errors.Is(err, ErrNoSink) || !strings.Contains(err.Error(), "K_SINK") {
		t.Errorf("no sink: %v", err)
	}
	for name, c := range map[string]struct {
		config SinkConfig
		want   string
	}{
		"relative":      {SinkConfig{URL: "/broker"}, "K_SINK/--sink"},
		"no scheme":     {SinkConfig{URL: "broker.svc:80"}, "K_SINK/--sink"},
		"other scheme":  {SinkConfig{URL: "kafka://x"}, "http or https"},
		"no URL":        {SinkConfig{URL: "http://[x"}, "K_SINK/--sink"},
		"password":      {SinkConfig{URL: "http://a:b@c"}, "password"},
		"overrides":     {SinkConfig{URL: "http://x", Overrides: "{"}, "K_CE_OVERRIDES"},
		"override name": {SinkConfig{URL: "http://x", Overrides: `{"extensions":{"a-b":"c"}}`}, "K_CE_OVERRIDES"},
		"override seq":  {SinkConfig{URL: "http://x", Overrides: `{"extensions":{"sequence":"1"}}`}, "sequence"},
		"ca":            {SinkConfig{URL: "http://x", CACerts: "nothing"}, "K_CA_CERTS"},
	} {
		if _, err := NewSender(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestSinkFromEnvReadsWhatASinkBindingInjects(t *testing.T) {
	env := map[string]string{"K_SINK": "http://x", "K_CE_OVERRIDES": "{}", "K_CA_CERTS": "pem"}
	got := SinkFromEnv(func(name string) string { return env[name] })
	want := SinkConfig{URL: "http://x", Overrides: "{}", CACerts: "pem", TokenPath: TokenPath}
	if got != want {
		t.Errorf("%+v", got)
	}
}
