package relay

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func sink(t *testing.T) (*httptest.Server, *atomic.Int32) {
	var got atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Add(1)
		w.Header().Set("Ce-Type", r.Header.Get("Ce-Type"))
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s, &got
}

func post(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url+"/", strings.NewReader("hint"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Ce-Type", "asked")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Body.Close() })
	return r
}

func TestEachPolicyDoesToEventsWhatItSays(t *testing.T) {
	for _, c := range []struct {
		name      string
		policy    Policy
		delivered int32
		lost      int
	}{
		{"faithful", Faithful, 4, 0},
		{"every second", EverySecond, 2, 2},
		{"three of each", ThreeOfEach, 12, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, got := sink(t)
			r, err := Start(s.URL, c.policy)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Stop()
			lost := 0
			for range 4 {
				answer := post(t, r.URL)
				body, _ := io.ReadAll(answer.Body)
				switch {
				case answer.StatusCode == http.StatusAccepted && len(body) == 0:
					lost++
				case answer.StatusCode != http.StatusOK || string(body) != "hint" || answer.Header.Get("Ce-Type") != "asked":
					t.Errorf("answer %d %q %v", answer.StatusCode, body, answer.Header)
				}
			}
			for deadline := time.Now().Add(5 * time.Second); got.Load() < c.delivered && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			if got.Load() != c.delivered || lost != c.lost || len(r.Events()) != 4 {
				t.Errorf("%d delivered, %d lost, %d seen", got.Load(), lost, len(r.Events()))
			}
		})
	}
}

func TestASinkOutOfReachIsABadGateway(t *testing.T) {
	r, err := Start("http://127.0.0.1:1", Faithful)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	if answer := post(t, r.URL); answer.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d", answer.StatusCode)
	}
	if e := r.Events()[0]; e.Failed == "" || e.Type != "asked" {
		t.Errorf("noted as %+v", e)
	}
}

func TestAnEchoArrivesLaterAndIsNotWaitedFor(t *testing.T) {
	arrived := make(chan struct{}, 2)
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
	defer sink.Close()
	r, err := Start(sink.URL, func(int) Fate { return Fate{Echo: 50 * time.Millisecond} })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	began := time.Now()
	response, err := http.Post(r.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	<-arrived
	<-arrived // the echo; the test's own deadline ends a wait in vain
	if late := time.Since(began); late < 50*time.Millisecond {
		t.Errorf("the echo came after %s", late)
	}
	if n := len(r.Events()); n != 1 {
		t.Errorf("%d events are noted, want 1", n)
	}
}
