package mesh

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// rig is a mesh with one server behind a name, and a client that uses it.
func rig(t *testing.T, serve http.HandlerFunc) (*Mesh, *http.Client) {
	t.Helper()
	m, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	m.Route("fn.ns.svc.cluster.local", server.URL)
	m.Route("-channel.ns.svc.cluster.local", server.URL)
	proxy, err := url.Parse(m.URL)
	if err != nil {
		t.Fatal(err)
	}
	return m, &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
}

func post(t *testing.T, c *http.Client, to string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, to, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Ce-Type", "asks")
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Ce-Type") + string(body)
}

func TestNamesAreReachedAndHopsSeen(t *testing.T) {
	m, c := rig(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Ce-Type", "answers")
		_, _ = io.WriteString(w, " "+r.Host+r.URL.Path)
	})
	for to, want := range map[string]string{
		"http://fn.ns.svc.cluster.local/a":            "answers fn.ns.svc.cluster.local/a",
		"http://b-kne-channel.ns.svc.cluster.local/b": "answers b-kne-channel.ns.svc.cluster.local/b",
	} {
		if status, text := post(t, c, to); status != http.StatusOK || text != want {
			t.Errorf("%s: %d %q", to, status, text)
		}
	}
	if status, _ := post(t, c, "http://nobody.ns.svc.cluster.local/"); status != http.StatusBadGateway {
		t.Errorf("an unknown name is answered %d", status)
	}
	hops := m.Hops("fn.ns.svc.cluster.local", time.Time{})
	if len(hops) != 1 || hops[0].Type != "asks" || hops[0].Reply != "answers" || hops[0].Status != http.StatusOK || hops[0].Path != "/a" {
		t.Errorf("hops: %+v", hops)
	}
}

func TestFates(t *testing.T) {
	served, then := 0, make(chan struct{})
	m, c := rig(t, func(w http.ResponseWriter, _ *http.Request) {
		served++
		if served == 2 {
			<-then
		}
		w.Header().Set("Ce-Type", "answers")
	})
	fates := []Fate{{Refuse: http.StatusServiceUnavailable}, {DropReply: true}, {After: time.Millisecond, Then: func() { close(then) }}}
	m.Spoil(func(Hop) Fate { f := fates[0]; fates = fates[1:]; return f })
	for i, want := range []struct {
		status, served int
		text           string
	}{{http.StatusServiceUnavailable, 0, ""}, {http.StatusAccepted, 1, ""}, {http.StatusOK, 2, "answers"}} {
		if status, text := post(t, c, "http://fn.ns.svc.cluster.local/"); status != want.status || text != want.text || served != want.served {
			t.Errorf("%d: %d %q after %d", i, status, text, served)
		}
	}
}
