package trigger

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

func parse(env map[string]string, args ...string) (Options, error) {
	return ParseOptions(args, func(name string) string { return env[name] }, io.Discard)
}

func TestOptionsComeFromFlagsThenEnvironmentThenDefaults(t *testing.T) {
	o, err := parse(map[string]string{
		"K_SINK": "http://from-env", "KUBECONFIG": "/env", "ETCDROLL_MAX_ROLLING": "3", "ETCDROLL_NAMESPACES": "a, b,a",
		"POD_NAMESPACE": "infra", "ETCDROLL_LOG_LEVEL": "debug", "K_CE_OVERRIDES": `{"extensions":{"a":"b"}}`,
	}, "--sink", "https://from-flag", "--max-rolling=2")
	if err != nil {
		t.Fatal(err)
	}
	if o.Sink.URL != "https://from-flag" || o.Limits.MaxRolling != 2 {
		t.Errorf("the flag does not win: %+v", o)
	}
	if o.Kubeconfig != "/env" || !slices.Equal(o.Scope.Namespaces, []string{"a", "b"}) || o.leaseNamespace() != "infra" ||
		o.LogLevel != slog.LevelDebug || o.Sink.Overrides == "" {
		t.Errorf("the environment is not read: %+v", o)
	}
	if o.Listen != ":8080" || !o.LeaderElect || o.Workers != 8 || o.Resync != 10*time.Minute || o.SyncTimeout != 30*time.Second {
		t.Errorf("defaults: %+v", o)
	}
}

// The manifests name the usual sink by ETCDROLL_SINK; a SinkBinding wins over it.
func TestSinkOfAManifestGivesWayToASinkBinding(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"manifest":    {map[string]string{"ETCDROLL_SINK": "http://usual"}, nil, "http://usual"},
		"SinkBinding": {map[string]string{"ETCDROLL_SINK": "http://usual", "K_SINK": "http://bound"}, nil, "http://bound"},
		"flag":        {map[string]string{"ETCDROLL_SINK": "http://usual", "K_SINK": "http://bound"}, []string{"--sink=http://flag"}, "http://flag"},
	} {
		if o, err := parse(c.env, c.args...); err != nil || o.Sink.URL != c.want {
			t.Errorf("%s: %q, %v, want %q", name, o.Sink.URL, err, c.want)
		}
	}
}

func TestWrongOptionsAreOneLineThatNamesThem(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"unknown flag":   {nil, []string{"--colour"}, "-colour"},
		"argument":       {nil, []string{"start"}, `"start"`},
		"no number":      {nil, []string{"--workers", "many"}, "workers"},
		"no worker":      {nil, []string{"--workers", "0"}, "--workers"},
		"negative limit": {nil, []string{"--max-rolling", "-1"}, "--max-rolling"},
		"hasty relist":   {nil, []string{"--resync-relist", "1s"}, "--resync-relist"},
		"no sync time":   {nil, []string{"--sync-timeout", "0"}, "--sync-timeout"},
		"no try time":    {nil, []string{"--try-timeout", "0s"}, "--try-timeout"},
		"bad namespace":  {nil, []string{"--namespaces", "A"}, "--namespaces"},
		"bad selector":   {nil, []string{"--pod-selector", "a in b"}, "--pod-selector"},
		"bad level":      {nil, []string{"--log-level", "loud"}, "log-level"},
		"bad sink":       {nil, []string{"--sink", "broker"}, "--sink"},
		"bad K_SINK":     {map[string]string{"K_SINK": "broker"}, nil, "K_SINK"},
		"bad env":        {map[string]string{"ETCDROLL_WORKERS": "x"}, nil, "ETCDROLL_WORKERS"},
		"bad overrides":  {map[string]string{"K_SINK": "http://x", "K_CE_OVERRIDES": "["}, nil, "K_CE_OVERRIDES"},
	} {
		_, err := parse(c.env, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in one line", name, err, c.want)
		}
	}
}

func TestHelpExplainsEveryFlagAndItsVariable(t *testing.T) {
	var out bytes.Buffer
	if _, err := ParseOptions([]string{"--help"}, func(string) string { return "" }, &out); !errors.Is(err, ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{
		"--sink", "K_SINK", "ETCDROLL_SINK", "--kubeconfig", "KUBECONFIG", "--namespaces", "ETCDROLL_NAMESPACES", "--pod-selector", "--listen",
		"--workers", "--max-rolling", "--require-approval", "--resync-relist", "--sync-timeout", "--try-timeout", "--leader-elect",
		"--lease-namespace", "POD_NAMESPACE", "--lease-name", "--log-level", "KUBE_FEATURE_WatchListClient",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not explained", want)
		}
	}
}
