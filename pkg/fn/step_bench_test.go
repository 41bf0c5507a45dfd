package fn

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// still is a world that accepts every patch and stays as it is, so that each
// visit finds the same step to take.
type still struct {
	*world
	accepted int
}

func (s *still) PatchSet(context.Context, string, string, Patch) error {
	s.accepted++
	return nil
}

// BenchmarkStep is one visit that releases a follower: everything is read, every
// gate is asked, the other pods are read again, and the set is patched. The
// copies that the world hands out stand for what a client decodes.
func BenchmarkStep(b *testing.B) {
	s := &still{world: newWorld(3).outdated()}
	h := handler(s.world)
	h.Observer.API, h.Actor.API = s, s
	header, body := hint(b)
	b.ReportAllocs()
	visits := 0
	for b.Loop() {
		s.calls, s.told = s.calls[:0], s.told[:0]
		r := &http.Request{Method: http.MethodPost, Header: header, Body: io.NopCloser(bytes.NewReader(body))}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		visits++
		if s.accepted != visits || answer.Header().Get("Ce-Type") != events.TypeContinue {
			b.Fatalf("visit %d is answered %d %v after %d steps", visits, answer.Code, answer.Header(), s.accepted)
		}
	}
}

// hint is the event that asks for the step, as it is on the wire.
func hint(b *testing.B) (http.Header, []byte) {
	b.Helper()
	e := diverged()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	if err := cehttp.WriteRequest(b.Context(), binding.ToMessage(&e), r); err != nil {
		b.Fatal(err)
	}
	preferReply(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.Fatal(err)
	}
	return r.Header, body
}
