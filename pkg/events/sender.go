package events

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// maxAnswer is how many bytes of an answer's body are read.
const maxAnswer = 64 << 10

// Answer is what the sink said to one POST.
type Answer struct {
	// Status is the HTTP status; every status is an answer, not an error.
	Status int
	// RetryAfter is how long the sink wants to be left alone; zero if it did not say.
	RetryAfter time.Duration
	// Reply is the event in the answer; nil if there is none.
	Reply *event.Event
	// ReplyErr says why a body that claimed to be an event could not be read; the delivery itself stands.
	ReplyErr error
	// Text is the beginning of a body that is no event, on one line.
	Text string
}

// Accepted says that the sink has taken the event.
func (a Answer) Accepted() bool { return a.Status >= 200 && a.Status < 300 }

// Sender posts events to one sink in binary mode. It is safe for concurrent use.
type Sender struct {
	url       string
	overrides map[string]string
	tokenPath string
	try       time.Duration
	client    *http.Client
}

// NewSender checks the configuration and names the setting that is wrong. It returns ErrNoSink if there is no URL.
func NewSender(c SinkConfig) (*Sender, error) {
	sink, err := c.parseURL()
	if err != nil {
		return nil, err
	}
	overrides, err := c.parseOverrides()
	if err != nil {
		return nil, err
	}
	roots, err := c.rootCAs()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	transport.MaxIdleConnsPerHost = 16
	try := c.Try
	if try <= 0 {
		try = DefaultTry
	}
	return &Sender{
		url: sink.String(), overrides: overrides, tokenPath: c.TokenPath, try: try,
		client: &http.Client{
			Transport: transport,
			// A redirect would carry the token, and a POST turned into a GET, to a host nobody configured.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// URL is the sink's address.
func (s *Sender) URL() string { return s.url }

// Send posts an event once, within the deadline of one try. With wantReply the sink is asked to answer with the
// follow-up event instead of posting it elsewhere. An error means that nobody knows whether the event arrived.
func (s *Sender) Send(ctx context.Context, e event.Event, wantReply bool) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.try)
	defer cancel()
	req, err := s.request(ctx, e, wantReply)
	if err != nil {
		return Answer{}, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("post %s: %w", e.Type(), err)
	}
	defer drain(resp.Body)
	return read(resp), nil
}

func (s *Sender) request(ctx context.Context, e event.Event, wantReply bool) (*http.Request, error) {
	e = e.Clone()
	for name, value := range s.overrides {
		e.SetExtension(name, value)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, nil)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	if err := cehttp.WriteRequest(ctx, binding.ToMessage(&e), req); err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.Type(), err)
	}
	if wantReply {
		req.Header.Set("Prefer", "reply")
	}
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, nil
}

// token is read for each POST, because it is renewed on disk within the hour.
func (s *Sender) token() (string, error) {
	if s.tokenPath == "" {
		return "", nil
	}
	raw, err := os.ReadFile(s.tokenPath)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

func read(resp *http.Response) Answer {
	a := Answer{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	raw, err := readLimited(resp.Body, maxAnswer)
	if err != nil {
		a.ReplyErr = err
		return a
	}
	if !a.Accepted() {
		a.Text = oneLine(raw)
		return a
	}
	e, err := decode(resp.Header, raw)
	switch {
	case err == nil:
		a.Reply = e
	case errors.Is(err, ErrNotEvent):
		a.Text = oneLine(raw)
	default:
		a.ReplyErr = err
	}
	return a
}

// retryAfter understands both forms of the header. The date is taken relative to the answer's own Date, so that the
// two machines' clocks need not agree.
func retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(until.Sub(now), 0)
}

// oneLine makes a body from outside fit for a log line.
func oneLine(raw []byte) string {
	const most = 512
	raw = bytes.TrimSpace(raw[:min(len(raw), most)])
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, string(raw))
}

// drain reads what is left, up to a limit, so that the connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxAnswer))
	_ = body.Close()
}
