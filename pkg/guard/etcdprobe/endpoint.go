package etcdprobe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strconv"
)

// Endpoint is where one member is asked.
type Endpoint struct {
	Index   int         // of the pod in its set; place of the answer in Reading.Members
	Address string      // host:port, the host being the pod's IP
	TLS     *tls.Config // nil means plain HTTP; ServerName is the name the certificate must carry
	Expect  string      // pod name, for messages
	Absent  bool        // the pod has no address: it is not asked

	// Dial is another way to the member than its address, for who cannot reach
	// pods: a tunnel that ends inside this very pod. Nil dials Address. TLS is
	// verified at the far end all the same.
	Dial func(context.Context) (net.Conn, error)
}

var errUnverified = errors.New("verification of certificates is switched off, which is not allowed")

// check refuses an endpoint that would be trusted without being verified.
func (e Endpoint) check() error {
	if e.TLS != nil && e.TLS.InsecureSkipVerify {
		return errUnverified
	}
	return nil
}

// name is how messages call the member.
func (e Endpoint) name() string {
	return cmp.Or(e.Expect, "member "+strconv.Itoa(e.Index))
}

// Credentials are those of an etcd user. Without a password etcd takes the
// common name of the client certificate as the user.
type Credentials struct {
	User, Password string
}

// String names the user and hides the password.
func (c Credentials) String() string {
	if c.Password == "" {
		return "user " + strconv.Quote(c.User) + " without password"
	}
	return "user " + strconv.Quote(c.User) + " with password"
}

// GoString hides the password from %#v.
func (c Credentials) GoString() string { return "etcdprobe.Credentials{" + c.String() + "}" }

// LogValue hides the password from logs.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText hides the password from JSON and YAML.
func (c Credentials) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
