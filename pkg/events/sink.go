package events

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// TokenPath is where Knative's SinkBinding puts the OIDC token for the sink.
const TokenPath = "/oidc/token"

// DefaultTry is the deadline of one POST.
const DefaultTry = 30 * time.Second

// ErrNoSink says that no sink was given at all; the caller may want to wait for one instead of failing.
var ErrNoSink = errors.New("no sink: set K_SINK (a SinkBinding does) or --sink")

// SinkConfig says where events go and how.
type SinkConfig struct {
	// URL is an absolute http or https address.
	URL string
	// Overrides is the JSON of K_CE_OVERRIDES: {"extensions":{"name":"value"}}. Empty: none.
	Overrides string
	// CACerts is PEM text whose certificates are trusted besides the system's. Empty: none.
	CACerts string
	// TokenPath is read before each POST; a file that is not there means no token. Empty: no token.
	TokenPath string
	// Try is the deadline of one POST. Zero: DefaultTry.
	Try time.Duration
}

// SinkFromEnv reads what Knative's SinkBinding injects: K_SINK, K_CE_OVERRIDES, K_CA_CERTS and the token's place.
func SinkFromEnv(getenv func(string) string) SinkConfig {
	return SinkConfig{
		URL:       getenv("K_SINK"),
		Overrides: getenv("K_CE_OVERRIDES"),
		CACerts:   getenv("K_CA_CERTS"),
		TokenPath: TokenPath,
	}
}

func (c SinkConfig) parseURL() (*url.URL, error) {
	if c.URL == "" {
		return nil, ErrNoSink
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("K_SINK/--sink %s is not a URL", quote(c.URL))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("K_SINK/--sink %s must be an absolute http or https URL", quote(c.URL))
	}
	if u.User != nil {
		return nil, errors.New("K_SINK/--sink must not carry a user or password")
	}
	return u, nil
}

// protected are attributes that the protocol rests on; an override would break it silently.
var protected = map[string]bool{
	ExtSequence: true, ExtNotBefore: true, "id": true, "source": true, "type": true, "subject": true,
	"specversion": true, "time": true, "datacontenttype": true, "dataschema": true, "data": true,
}

func (c SinkConfig) parseOverrides() (map[string]string, error) {
	if c.Overrides == "" {
		return nil, nil
	}
	var overrides struct {
		Extensions map[string]string `json:"extensions"`
	}
	if err := json.Unmarshal([]byte(c.Overrides), &overrides); err != nil {
		return nil, fmt.Errorf("K_CE_OVERRIDES is not JSON of the form {\"extensions\":{}}: %w", err)
	}
	for name := range overrides.Extensions {
		if !event.IsExtensionNameValid(name) {
			return nil, fmt.Errorf("K_CE_OVERRIDES: %s is not the name of an extension attribute", quote(name))
		}
		if protected[name] {
			return nil, fmt.Errorf("K_CE_OVERRIDES: attribute %q cannot be overridden", name)
		}
	}
	return overrides.Extensions, nil
}

func (c SinkConfig) rootCAs() (*x509.CertPool, error) {
	if c.CACerts == "" {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(c.CACerts)) {
		return nil, errors.New("K_CA_CERTS holds no PEM certificate")
	}
	return pool, nil
}
