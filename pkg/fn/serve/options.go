// Package serve runs the function as a process: its flags, its listener, its
// probes and its end.
package serve

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn"
)

// Options are what the command line and the environment say.
type Options struct {
	Listen     string
	Namespaces fn.Namespaces
	MaxWait    time.Duration
	ToSink     bool
	Kubeconfig string
	LogLevel   slog.Level
	Getenv     func(string) string
}

// namespaceFile is where a pod finds the namespace it runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

const intro = `roll-fn takes one guarded step of an etcd rolling restart for each CloudEvent posted to it.

Usage: roll-fn [flags]

Each flag can be given as an environment variable instead; the flag wins.

`

// text is one flag, its variable and what it means.
type text struct{ name, env, value, usage string }

func texts(getenv func(string) string) []text {
	listen := ":8080"
	if port := getenv("PORT"); port != "" {
		listen = ":" + port // Knative Serving's contract
	}
	return []text{
		{"listen", "ETCDROLL_LISTEN", listen, "address to serve events, /healthz and /readyz on; the port defaults to $PORT"},
		{"namespaces", "ETCDROLL_NAMESPACES", "", "comma-separated namespaces whose sets may be touched, or * for all; default: the namespace of the pod"},
		{"max-wait", "ETCDROLL_MAX_WAIT", "0s", "how long to poll inside a request while a step is under way; 0s where the trigger owns time, 20s behind a broker"},
		{"continue", "ETCDROLL_CONTINUE", "reply", "where the event for the next step goes: reply (the HTTP answer, if the sender prefers one) or sink (posted to $K_SINK)"},
		{"kubeconfig", "KUBECONFIG", "", "kubeconfig file; default: the pod's service account"},
		{"log-level", "ETCDROLL_LOG_LEVEL", "info", "debug, info, warn or error"},
	}
}

// Parse reads the command line. flag.ErrHelp means that help was asked for
// and printed.
func Parse(args []string, getenv func(string) string, help io.Writer) (Options, error) {
	flags := flag.NewFlagSet("roll-fn", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	values := map[string]*string{}
	for _, t := range texts(getenv) {
		value := t.value
		if fromEnv := getenv(t.env); fromEnv != "" {
			value = fromEnv
		}
		values[t.name] = flags.String(t.name, value, fmt.Sprintf("%s (env %s)", t.usage, t.env))
	}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(help, intro)
		flags.SetOutput(help)
		flags.PrintDefaults()
		return Options{}, err
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		return Options{}, err
	}
	return check(values, getenv)
}

func check(values map[string]*string, getenv func(string) string) (Options, error) {
	o := Options{Listen: *values["listen"], Kubeconfig: *values["kubeconfig"], Getenv: getenv}
	var err error
	if o.MaxWait, err = time.ParseDuration(*values["max-wait"]); err != nil || o.MaxWait < 0 || o.MaxWait > 4*time.Minute {
		return o, fmt.Errorf("--max-wait %q: write a duration from 0s to 4m", *values["max-wait"])
	}
	switch *values["continue"] {
	case "reply":
	case "sink":
		o.ToSink = true
	default:
		return o, fmt.Errorf("--continue %q: write reply or sink", *values["continue"])
	}
	if err := o.LogLevel.UnmarshalText([]byte(*values["log-level"])); err != nil {
		return o, fmt.Errorf("--log-level %q: write debug, info, warn or error", *values["log-level"])
	}
	o.Namespaces, err = namespaces(*values["namespaces"])
	return o, err
}

// namespaces reads the list; an empty one means the pod's own.
func namespaces(list string) (fn.Namespaces, error) {
	if strings.TrimSpace(list) == "" {
		own, err := os.ReadFile(namespaceFile)
		if err != nil {
			return fn.Namespaces{}, errors.New("--namespaces is empty and this is no pod: name the namespaces, or * for all")
		}
		list = string(own)
	}
	n := fn.Namespaces{Named: map[string]bool{}}
	for _, name := range strings.Split(list, ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case "*":
			n.All = true
		default:
			n.Named[name] = true
		}
	}
	if !n.All && len(n.Named) == 0 {
		return fn.Namespaces{}, fmt.Errorf("--namespaces %q names none: write names separated by commas, or * for all", list)
	}
	return n, nil
}
