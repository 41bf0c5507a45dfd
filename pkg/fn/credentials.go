package fn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
)

// credentials are what the members are asked with. They are read anew for
// each request, so that a rotation between two steps needs no restart.
//
// That costs one Secret with TLS or with authentication, two with both; more
// only where the mounts spread CA and pair over several objects. A plain
// cluster costs none.
type credentials struct {
	tls  *tls.Config // nil means plain HTTP; the server name is set per member
	who  etcdprobe.Credentials
	from string // which objects they are from, for messages
}

// vault reads objects once per request and remembers the first that fails.
type vault struct {
	ctx       context.Context
	api       API
	namespace string
	read      map[string]map[string][]byte // data by kind and name
}

// credentialsInvalid is a problem in one sentence. It never holds a value.
func credentialsInvalid(format string, args ...any) *roll.ConfigProblem {
	return &roll.ConfigProblem{Reason: roll.ReasonCredentialsInvalid, Message: fmt.Sprintf(format, args...)}
}

// readCredentials reads what the settings name. A problem is what a person
// must mend; an error is one that passes, such as a slow API server.
func readCredentials(ctx context.Context, api API, set *appsv1.StatefulSet, s Settings, now time.Time) (credentials, *roll.ConfigProblem, error) {
	v := vault{ctx: ctx, api: api, namespace: set.Namespace, read: map[string]map[string][]byte{}}
	var c credentials
	if s.TLS {
		problem, err := c.readTLS(v, set, s, now)
		if problem != nil || err != nil {
			return credentials{}, problem, err
		}
	}
	if s.AuthSecret != "" {
		problem, err := c.readUser(v, s.AuthSecret)
		if problem != nil || err != nil {
			return credentials{}, problem, err
		}
	}
	return c, nil, nil
}

// files are the three certificates' objects.
type files struct{ ca, cert, key object }

// locate finds the objects, from the Secret named or through the mounts.
func locate(set *appsv1.StatefulSet, s Settings) (files, *roll.ConfigProblem) {
	if name := s.TLSSecret; name != "" {
		return files{object{"Secret", name, "ca.crt"}, object{"Secret", name, "tls.crt"}, object{"Secret", name, "tls.key"}}, nil
	}
	spec := &set.Spec.Template.Spec
	etcd, found := findEtcd(spec)
	if !found {
		return files{}, credentialsInvalid("no container of the pod template runs etcd, so tls.caFile cannot be found: give tls.secretName in %s", ConfigKey)
	}
	var f files
	for _, want := range []struct {
		key, file string
		to        *object
	}{{"tls.caFile", s.CAFile, &f.ca}, {"tls.certFile", s.CertFile, &f.cert}, {"tls.keyFile", s.KeyFile, &f.key}} {
		source, err := sourceOf(spec, etcd, want.file)
		if err != nil {
			return files{}, credentialsInvalid("%s (%s): %s %v: give tls.secretName in %s", want.key, s.origin(want.key), want.file, err, ConfigKey)
		}
		*want.to = source
	}
	return f, nil
}

func (c *credentials) readTLS(v vault, set *appsv1.StatefulSet, s Settings, now time.Time) (*roll.ConfigProblem, error) {
	f, problem := locate(set, s)
	if problem != nil {
		return problem, nil
	}
	var ca, cert, key []byte
	for _, want := range []struct {
		from object
		to   *[]byte
	}{{f.ca, &ca}, {f.cert, &cert}, {f.key, &key}} {
		value, problem, err := v.get(want.from)
		if problem != nil || err != nil {
			return problem, err
		}
		*want.to = value
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return credentialsInvalid("%s in namespace %s holds no PEM certificate", f.ca, set.Namespace), nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return credentialsInvalid("%s and key %s in namespace %s are no usable pair: %s", f.cert, f.key.key, set.Namespace, pairFault(err)), nil
	}
	if leaf := pair.Leaf; leaf != nil && (now.After(leaf.NotAfter) || now.Before(leaf.NotBefore)) {
		return credentialsInvalid("%s in namespace %s: certificate for %s is valid from %s to %s only", f.cert, set.Namespace,
			quoted(leaf.Subject.CommonName), leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339)), nil
	}
	c.tls = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{pair}}
	c.from = fmt.Sprintf("trusting %s, presenting %s", f.ca, f.cert)
	return nil, nil
}

// pairFault keeps the standard library's words, which name no bytes.
func pairFault(err error) string {
	return strings.TrimPrefix(oneLine(err.Error(), 200), "tls: ")
}

func (c *credentials) readUser(v vault, secret string) (*roll.ConfigProblem, error) {
	for _, want := range []struct {
		key string
		to  *string
	}{{"username", &c.who.User}, {"password", &c.who.Password}} {
		value, problem, err := v.get(object{"Secret", secret, want.key})
		if problem != nil || err != nil {
			return problem, err
		}
		*want.to = strings.TrimRight(string(value), "\r\n")
	}
	from := fmt.Sprintf("user from Secret %s", secret)
	c.from = strings.TrimPrefix(c.from+", "+from, ", ")
	return nil, nil
}

// get reads one key of one object.
func (v vault) get(o object) ([]byte, *roll.ConfigProblem, error) {
	if len(validation.IsDNS1123Subdomain(o.name)) > 0 {
		return nil, credentialsInvalid("%s is no name of a %s", quoted(o.name), o.kind), nil
	}
	id := o.kind + "/" + o.name
	data, seen := v.read[id]
	if !seen {
		var err error
		data, err = v.fetch(o)
		switch {
		case apierrors.IsNotFound(err):
			return nil, credentialsInvalid("%s %s (wanted for key %s) does not exist in namespace %s", o.kind, o.name, o.key, v.namespace), nil
		case apierrors.IsForbidden(err):
			return nil, credentialsInvalid("no right to get %s %s (wanted for key %s) in namespace %s: name it in the function's Role", o.kind, o.name, o.key, v.namespace), nil
		case err != nil:
			return nil, nil, fmt.Errorf("get %s %s: %w", o.kind, o.name, err)
		}
		v.read[id] = data
	}
	value, has := data[o.key]
	if !has || len(value) == 0 {
		return nil, credentialsInvalid("%s in namespace %s is missing or empty", o, v.namespace), nil
	}
	return value, nil, nil
}

func (v vault) fetch(o object) (map[string][]byte, error) {
	if o.kind == "Secret" {
		secret, err := v.api.Secret(v.ctx, v.namespace, o.name)
		if err != nil {
			return nil, err
		}
		return secret.Data, nil
	}
	m, err := v.api.ConfigMap(v.ctx, v.namespace, o.name)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for k, text := range m.Data {
		data[k] = []byte(text)
	}
	return data, nil
}

// serverName is the name that the certificate of a pod's member must carry.
func (s *Settings) serverName(set *appsv1.StatefulSet, pod string) string {
	return strings.NewReplacer("{pod}", pod, "{service}", s.Service, "{namespace}", set.Namespace).Replace(s.ServerName)
}
