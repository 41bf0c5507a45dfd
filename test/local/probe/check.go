package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Exec runs a command inside the container and returns its exit code.
type Exec func(ctx context.Context, command []string) (int, error)

// For builds the check of a probe for one container.
func For(p *corev1.Probe, c *corev1.Container, podIP string, exec Exec) Check {
	switch {
	case p.HTTPGet != nil:
		return httpCheck(p.HTTPGet, c, podIP)
	case p.TCPSocket != nil:
		return tcpCheck(p.TCPSocket, c, podIP)
	case p.Exec != nil:
		return func(ctx context.Context) error {
			code, err := exec(ctx, p.Exec.Command)
			if err == nil && code != 0 {
				err = fmt.Errorf("command ended with exit code %d", code)
			}
			return err
		}
	default:
		return func(context.Context) error {
			return errors.New("this kind of probe is not supported by the local cluster")
		}
	}
}

// Probes must see a fresh connection each time and, as the kubelet does, follow
// no redirect and verify no certificate.
var client = &http.Client{
	Transport: &http.Transport{
		DisableKeepAlives: true,
		Proxy:             nil,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as the kubelet's probes
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func httpCheck(get *corev1.HTTPGetAction, c *corev1.Container, podIP string) Check {
	return func(ctx context.Context) error {
		port, err := resolve(get.Port, c)
		if err != nil {
			return err
		}
		url := fmt.Sprintf("%s://%s%s", scheme(get.Scheme), net.JoinHostPort(host(get.Host, podIP), port), path(get.Path))
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		// As the kubelet's; Knative's queue-proxy tells probes by it.
		request.Header.Set("User-Agent", "kube-probe/1.37")
		for _, h := range get.HTTPHeaders {
			if http.CanonicalHeaderKey(h.Name) == "User-Agent" {
				request.Header.Del("User-Agent")
			}
			request.Header.Add(h.Name, h.Value)
			if http.CanonicalHeaderKey(h.Name) == "Host" {
				request.Host = h.Value
			}
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		if response.StatusCode < 200 || response.StatusCode >= 400 {
			return fmt.Errorf("HTTP probe failed with statuscode: %d %s", response.StatusCode, body)
		}
		return nil
	}
}

func tcpCheck(socket *corev1.TCPSocketAction, c *corev1.Container, podIP string) Check {
	return func(ctx context.Context) error {
		port, err := resolve(socket.Port, c)
		if err != nil {
			return err
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host(socket.Host, podIP), port))
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// resolve gives a port number, looking names up among the container's ports.
func resolve(port intstr.IntOrString, c *corev1.Container) (string, error) {
	if port.Type == intstr.Int {
		return strconv.Itoa(port.IntValue()), nil
	}
	for _, p := range c.Ports {
		if p.Name == port.StrVal {
			return strconv.Itoa(int(p.ContainerPort)), nil
		}
	}
	if _, err := strconv.Atoi(port.StrVal); err == nil {
		return port.StrVal, nil
	}
	return "", fmt.Errorf("no port named %q in container %s", port.StrVal, c.Name)
}

func scheme(s corev1.URIScheme) string {
	if s == corev1.URISchemeHTTPS {
		return "https"
	}
	return "http"
}

func host(h, podIP string) string {
	if h == "" {
		return podIP
	}
	return h
}

func path(p string) string {
	if p == "" || p[0] != '/' {
		return "/" + p
	}
	return p
}
