package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestTracker(t *testing.T) {
	for _, c := range []struct {
		name             string
		success, failure int32
		initial          bool
		outcomes         string // + and -
		verdicts         string // after each; upper case where a threshold was reached
	}{
		{"one success is enough by default", 0, 0, false, "-+", "nY"},
		{"three failures by default", 0, 0, false, "+---", "YyyN"},
		{"a success in between starts the count anew", 1, 3, true, "--+--", "yyYyy"},
		{"success threshold", 2, 1, false, "+-++", "nNnY"},
		{"a threshold is reached once", 1, 2, true, "----", "yNnn"},
		{"threshold one fails at once", 1, 1, true, "-+-", "NYN"},
	} {
		tracker := NewTracker(&corev1.Probe{SuccessThreshold: c.success, FailureThreshold: c.failure}, c.initial)
		got := ""
		for _, o := range c.outcomes {
			verdict, reached := tracker.Observe(o == '+')
			got += map[[2]bool]string{{true, true}: "Y", {true, false}: "y", {false, true}: "N", {false, false}: "n"}[[2]bool{verdict, reached}]
		}
		if got != c.verdicts {
			t.Errorf("%s: %s gave %s, want %s", c.name, c.outcomes, got, c.verdicts)
		}
	}
}

// step waits until the probe loop waits for the clock, then moves it.
func step(t *testing.T, clk *clocktesting.FakeClock, d time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !clk.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the probe does not wait for the clock")
		}
	}
	clk.Step(d)
}

func TestRunKeepsDelayAndPeriod(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	began := clk.Now()
	attempts := make(chan time.Duration)
	events := make(chan Event, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	spec := &corev1.Probe{InitialDelaySeconds: 4, PeriodSeconds: 2, FailureThreshold: 2}
	go Run(ctx, clk, spec, false, func(context.Context) error {
		attempts <- clk.Since(began)
		return errors.New("no")
	}, func(e Event) { events <- e })
	step(t, clk, 4*time.Second)
	for i, want := range []time.Duration{4 * time.Second, 6 * time.Second, 8 * time.Second} {
		if got := <-attempts; got != want {
			t.Errorf("attempt %d after %s, want %s", i, got, want)
		}
		e := <-events
		if e.OK || e.Err == nil || e.Reached != (i == 1) {
			t.Errorf("attempt %d: event %+v", i, e)
		}
		step(t, clk, 2*time.Second)
	}
}

func TestRunEndsWithItsContextWithoutAReport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Run(ctx, clocktesting.NewFakeClock(time.Unix(0, 0)), &corev1.Probe{}, false, func(ctx context.Context) error {
			cancel()
			return ctx.Err()
		}, func(e Event) { t.Errorf("reported %+v", e) })
	}()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("still running")
	}
}

func TestHTTPCheck(t *testing.T) {
	handler := http.NewServeMux()
	for _, code := range []int{200, 302, 399, 400, 503} {
		handler.HandleFunc(fmt.Sprintf("/%d", code), func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Probe") != "yes" || !strings.HasPrefix(r.UserAgent(), "kube-probe/") {
				code = 500
			}
			w.WriteHeader(code)
		})
	}
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	for scheme, server := range map[corev1.URIScheme]*httptest.Server{corev1.URISchemeHTTP: plain, corev1.URISchemeHTTPS: secure} {
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		port, err := strconv.Atoi(u.Port())
		if err != nil {
			t.Fatal(err)
		}
		container := &corev1.Container{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port)}}}
		for code, healthy := range map[int]bool{200: true, 302: true, 399: true, 400: false, 503: false} {
			get := &corev1.HTTPGetAction{Scheme: scheme, Path: fmt.Sprintf("/%d", code), Port: intstr.FromString("web"),
				HTTPHeaders: []corev1.HTTPHeader{{Name: "X-Probe", Value: "yes"}}}
			err := For(&corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: get}}, container, u.Hostname(), nil)(t.Context())
			if (err == nil) != healthy {
				t.Errorf("%s %d: err = %v", scheme, code, err)
			}
		}
	}
}

func TestTCPAndExecChecks(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.Parse(u.Port())}}}
	check := For(probe, &corev1.Container{}, u.Hostname(), nil)
	if err := check(t.Context()); err != nil {
		t.Errorf("open port: %v", err)
	}
	server.Close()
	if check(t.Context()) == nil {
		t.Error("closed port counts as healthy")
	}
	for code, healthy := range map[int]bool{0: true, 1: false} {
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}}}
		err := For(probe, &corev1.Container{}, "", func(context.Context, []string) (int, error) { return code, nil })(t.Context())
		if (err == nil) != healthy {
			t.Errorf("exit code %d: err = %v", code, err)
		}
	}
	if For(&corev1.Probe{}, &corev1.Container{}, "", nil)(t.Context()) == nil {
		t.Error("an unknown kind of probe counts as healthy")
	}
}
