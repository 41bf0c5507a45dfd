package fn

import (
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// contradiction finds what cannot be meant: keys that exclude each other, or
// that speak about another set than the one at hand.
func (s *Settings) contradiction(set *appsv1.StatefulSet) *roll.ConfigProblem {
	return firstProblem(
		s.wrongSet(set),
		s.tlsKeys(),
		s.wrongScheme(set),
		s.tlsFiles(),
		s.serverNameProblem(),
		s.thresholds(),
	)
}

func (s *Settings) wrongSet(set *appsv1.StatefulSet) *roll.ConfigProblem {
	switch {
	case s.given("stsName") && s.setName != set.Name:
		return invalid("%s: key stsName: value %s, but the set is %s: correct it, or name another ConfigMap in the set's annotation", ConfigKey, quoted(s.setName), quoted(set.Name))
	case s.given("namespace") && s.namespace != set.Namespace:
		return invalid("%s: key namespace: value %s, but the set is in %s: correct or remove it", ConfigKey, quoted(s.namespace), quoted(set.Namespace))
	}
	return nil
}

// tlsKeys: with TLS off the three paths may stay, as the shell rollout let
// them; the newer keys may not.
func (s *Settings) tlsKeys() *roll.ConfigProblem {
	if !s.TLS && s.given("tls.enabled") {
		for _, k := range []string{"tls.secretName", "tls.serverName"} {
			if s.given(k) {
				return invalid("%s: key %s contradicts tls.enabled: false: remove one of them", ConfigKey, k)
			}
		}
	}
	for _, k := range []string{"tls.caFile", "tls.certFile", "tls.keyFile"} {
		if s.TLSSecret != "" && s.given(k) {
			return invalid("%s: key %s contradicts tls.secretName, which has all three: remove one of them", ConfigKey, k)
		}
	}
	if s.TLS && s.given("tls.certFile") != s.given("tls.keyFile") {
		return invalid("%s: tls.certFile and tls.keyFile belong together: give both or none", ConfigKey)
	}
	return nil
}

// tlsFiles: with TLS on, something must be there to verify the members with.
func (s *Settings) tlsFiles() *roll.ConfigProblem {
	if !s.TLS || s.TLSSecret != "" {
		return nil
	}
	if s.CAFile == "" || s.CertFile == "" || s.KeyFile == "" {
		return invalid("TLS is on (%s), but the etcd container shows no --cert-file, --key-file and --trusted-ca-file (certificates that etcd makes itself with --auto-tls cannot be verified): give tls.secretName, or tls.caFile, tls.certFile and tls.keyFile, in %s",
			s.origin("tls.enabled"), ConfigKey)
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{[^}]*\}?`)

func (s *Settings) serverNameProblem() *roll.ConfigProblem {
	for _, p := range placeholder.FindAllString(s.ServerName, -1) {
		if !slices.Contains([]string{"{pod}", "{service}", "{namespace}"}, p) {
			return invalid("%s: key tls.serverName: value %s: %s is none of {pod}, {service}, {namespace}", ConfigKey, quoted(s.ServerName), quoted(p))
		}
	}
	if s.TLS && s.Service == "" && strings.Contains(s.ServerName, "{service}") {
		return invalid("the set has no serviceName, which the name in certificates is made from: give serviceName or tls.serverName in %s", ConfigKey)
	}
	return nil
}

// wrongScheme: etcd says on the very port how it is spoken to.
func (s *Settings) wrongScheme(set *appsv1.StatefulSet) *roll.ConfigProblem {
	etcd, found := findEtcd(&set.Spec.Template.Spec)
	if !found || !s.given("tls.enabled") {
		return nil
	}
	for _, u := range clientURLs(etcd) {
		if u.port == s.Port && !u.loopback && (u.scheme == "https") != s.TLS {
			return invalid("%s: key tls.enabled: value %t, but %s says %s on port %d: correct or remove it", ConfigKey, s.TLS, u.from, u.scheme, u.port)
		}
	}
	return nil
}

func (s *Settings) thresholds() *roll.ConfigProblem {
	if s.Limits.HeadroomNote > s.Limits.HeadroomStop {
		return invalid("%s: gates.headroom.note %v is above gates.headroom.stop %v: lower it", ConfigKey, s.Limits.HeadroomNote, s.Limits.HeadroomStop)
	}
	return nil
}
