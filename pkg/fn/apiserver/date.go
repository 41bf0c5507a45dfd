package apiserver

import (
	"context"
	"net/http"
	"time"
)

// dateKey is where a request's context says who wants the Date header.
type dateKey struct{}

// withDate asks for the server's clock at the time of the answer. It is the
// one clock that all functions share.
func withDate(ctx context.Context, to *time.Time) context.Context {
	return context.WithValue(ctx, dateKey{}, to)
}

// rememberDate keeps the Date header of answers whose request asked for it.
func rememberDate(next http.RoundTripper) http.RoundTripper { return dateKeeper{next} }

type dateKeeper struct{ next http.RoundTripper }

func (d dateKeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(r)
	if err != nil {
		return response, err
	}
	if to, wanted := r.Context().Value(dateKey{}).(*time.Time); wanted {
		if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			*to = at
		}
	}
	return response, nil
}
