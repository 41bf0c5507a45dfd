package fn

import (
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// defaultServerName is the name of a pod that its governing service
// publishes, and the one that certificates for a StatefulSet carry.
const defaultServerName = "{pod}.{service}.{namespace}.svc"

// clientURL is one address that etcd serves clients on.
type clientURL struct {
	scheme   string
	port     int // 0 when the template does not show it
	loopback bool
	from     Origin
}

// deriveFrom fills in from the set what config.yaml leaves open.
func (s *Settings) deriveFrom(set *appsv1.StatefulSet) *roll.ConfigProblem {
	s.derive("serviceName", "spec.serviceName of the set", func() { s.Service = set.Spec.ServiceName })
	s.derive("tls.serverName", originDefault, func() { s.ServerName = defaultServerName })
	etcd, found := findEtcd(&set.Spec.Template.Spec)
	if !found {
		if s.given("clientPort") && s.given("tls.enabled") {
			return nil
		}
		return invalid("no container of the pod template starts etcd, has the port %d or one named client, or is named etcd: give clientPort and tls.enabled in %s",
			clientPortNumber, ConfigKey)
	}
	s.derivePort(etcd)
	s.deriveTLS(etcd)
	return nil
}

// derivePort takes scheme and port from the address that etcd listens on.
func (s *Settings) derivePort(etcd process) {
	if url, found := s.choose(clientURLs(etcd)); found {
		s.derive("tls.enabled", url.from, func() { s.TLS = url.scheme == "https" })
		if url.port != 0 {
			s.derive("clientPort", url.from, func() { s.Port = url.port })
		}
	}
	if cert, from := etcd.setting("cert-file"); cert != "" && s.origins["tls.enabled"] == "" {
		s.derive("tls.enabled", from, func() { s.TLS = true })
	}
	named := slices.IndexFunc(etcd.container.Ports, func(p corev1.ContainerPort) bool { return p.Name == "client" })
	if named >= 0 && s.origins["clientPort"] == "" {
		s.derive("clientPort", "container port named client", func() { s.Port = int(etcd.container.Ports[named].ContainerPort) })
	}
}

// choose picks the address to dial: one that fits what config.yaml says, not
// on loopback, and rather with TLS than without.
func (s *Settings) choose(urls []clientURL) (clientURL, bool) {
	fits := slices.DeleteFunc(slices.Clone(urls), func(u clientURL) bool {
		return s.given("clientPort") && u.port != 0 && u.port != s.Port ||
			s.given("tls.enabled") && (u.scheme == "https") != s.TLS
	})
	rank := func(u clientURL) int {
		r := 0
		if u.loopback {
			r += 2
		}
		if u.scheme != "https" {
			r++
		}
		return r
	}
	if len(fits) == 0 {
		return clientURL{}, false
	}
	return slices.MinFunc(fits, func(a, b clientURL) int { return rank(a) - rank(b) }), true
}

// clientURLs are the addresses that etcd listens on, or else advertises. Only
// scheme and port are wanted: hosts are the pods' own addresses.
func clientURLs(etcd process) []clientURL {
	for _, flag := range []string{"listen-client-urls", "advertise-client-urls"} {
		text, from := etcd.setting(flag)
		var urls []clientURL
		for _, one := range strings.Split(text, ",") {
			if u, ok := parseClientURL(strings.TrimSpace(one)); ok {
				u.from = from
				urls = append(urls, u)
			}
		}
		if len(urls) > 0 {
			return urls
		}
	}
	return nil
}

// parseClientURL copes with hosts that are variables nobody here can expand.
func parseClientURL(text string) (clientURL, bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || (scheme != "http" && scheme != "https") {
		return clientURL{}, false
	}
	rest, _, _ = strings.Cut(rest, "/")
	colon := strings.LastIndexByte(rest, ':')
	if colon < 0 {
		return clientURL{}, false
	}
	host := strings.Trim(rest[:colon], "[]")
	ip := net.ParseIP(host)
	u := clientURL{scheme: scheme, loopback: host == "localhost" || (ip != nil && ip.IsLoopback())}
	if port, err := strconv.Atoi(rest[colon+1:]); err == nil && port > 0 && port <= 65535 {
		u.port = port
	}
	return u, true
}

// deriveTLS takes the certificate paths from the server's own settings: we
// present the member's own pair, as the shell rollout did. etcd without
// client authentication needs no CA of its own; then the one that
// cert-manager and others put beside the certificate is meant.
func (s *Settings) deriveTLS(etcd process) {
	if !s.TLS || s.TLSSecret != "" {
		return
	}
	for _, f := range []struct {
		key, flag string
		to        *string
	}{
		{"tls.certFile", "cert-file", &s.CertFile},
		{"tls.keyFile", "key-file", &s.KeyFile},
		{"tls.caFile", "trusted-ca-file", &s.CAFile},
	} {
		if value, from := etcd.setting(f.flag); value != "" {
			s.derive(f.key, from, func() { *f.to = value })
		}
	}
	if s.CAFile == "" && s.CertFile != "" {
		s.derive("tls.caFile", "ca.crt beside "+s.origin("tls.certFile"), func() { s.CAFile = path.Join(path.Dir(s.CertFile), "ca.crt") })
	}
}
