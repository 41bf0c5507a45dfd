package apiproxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const set = "/apis/apps/v1/namespaces/n/statefulsets/etcd"

// begin proxies a server that counts up with every read and keeps what is
// written.
func begin(t *testing.T) (*Proxy, *atomic.Int64) {
	t.Helper()
	var reads, writes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes.Add(1)
			return
		}
		_, _ = fmt.Fprint(w, reads.Add(1), " for ", r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	p, err := Start(&rest.Config{Host: server.URL, BearerToken: "not mine"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p, &writes
}

// client trusts the proxy and nobody else.
func client(t *testing.T, p *Proxy) *http.Client {
	t.Helper()
	c, err := rest.HTTPClientFor(&rest.Config{Host: p.URL, BearerToken: "me", TLSClientConfig: rest.TLSClientConfig{ServerName: Name, CAData: p.Authority}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, p *Proxy) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, p.URL+set, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client(t, p).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadsAreAnsweredFromThePastOnlyWhileAsked(t *testing.T) {
	p, _ := begin(t)
	if got := get(t, p); got != "1 for Bearer me" {
		t.Fatal(got)
	}
	time.Sleep(20 * time.Millisecond) // the age of an answer is real time
	p.Age(20 * time.Millisecond)
	if got := get(t, p); got != "1 for Bearer me" {
		t.Errorf("%q is not from the past", got)
	}
	if n := p.Age(0); n != 1 {
		t.Errorf("%d answers from the past, want 1", n)
	}
	if got := get(t, p); got != "2 for Bearer me" {
		t.Errorf("%q is not live", got)
	}
	p.Age(Remembered)
	if got := get(t, p); got != "3 for Bearer me" {
		t.Errorf("%q: nothing is that old", got)
	}
}

func TestALostAnswerIsOfAWriteThatWasApplied(t *testing.T) {
	p, applied := begin(t)
	p.LoseAnswers(1)
	if _, err := client(t, p).Post(p.URL+set, "application/json", strings.NewReader("{}")); err == nil {
		t.Error("an answer came")
	}
	if _, err := client(t, p).Post(p.URL+set, "application/json", strings.NewReader("{}")); err != nil {
		t.Error("a second answer was lost:", err)
	}
	if applied.Load() != 2 {
		t.Errorf("%d writes were applied, want 2", applied.Load())
	}
	w := p.Writes(time.Time{})
	if len(w) != 2 || !w[0].Lost || w[1].Lost || w[0].Status != http.StatusOK {
		t.Errorf("noted %+v", w)
	}
	if p.LoseAnswers(0) != 0 {
		t.Error("more answers were to be lost")
	}
}
