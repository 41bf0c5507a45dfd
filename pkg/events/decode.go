package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

var (
	// ErrTooLarge says that a body was longer than the reader allows (HTTP 413).
	ErrTooLarge = errors.New("body is too large")
	// ErrCutOff says that a body broke off or took too long, which is nobody's mistake and worth another try (HTTP 503).
	ErrCutOff = errors.New("the body was not received whole")
	// ErrNotEvent says that a message is no single CloudEvent, neither binary nor structured (HTTP 415).
	ErrNotEvent = errors.New("not a single CloudEvent in binary or structured mode")
)

// Decode reads one CloudEvent, binary or structured, from an HTTP request or response. Bodies longer than limit bytes
// are refused with ErrTooLarge, messages that are no event with ErrNotEvent, everything else that does not decode with
// an error that is a client's mistake (HTTP 400).
func Decode(header http.Header, body io.Reader, limit int64) (*event.Event, error) {
	raw, err := readLimited(body, limit)
	if err != nil {
		return nil, err
	}
	return decode(header, raw)
}

func decode(header http.Header, raw []byte) (*event.Event, error) {
	// The SDK's binary reader indexes past the end of a header that is named "Ce-" and nothing more.
	for name := range header {
		if strings.EqualFold(name, "ce-") {
			return nil, malformed("header", "an attribute without a name")
		}
	}
	message := cehttp.NewMessage(header, io.NopCloser(bytes.NewReader(raw)))
	switch message.ReadEncoding() {
	case binding.EncodingBinary, binding.EncodingStructured:
	default:
		return nil, ErrNotEvent
	}
	e, err := binding.ToEvent(context.Background(), message)
	if err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("invalid event: %w", err)
	}
	return e, nil
}

func readLimited(body io.Reader, limit int64) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCutOff, err)
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return raw, nil
}
