package trigger

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// Options are all settings of the process.
type Options struct {
	Sink        events.SinkConfig
	Kubeconfig  string
	Scope       Scope
	Limits      Limits
	Listen      string
	Workers     int
	Resync      time.Duration
	SyncTimeout time.Duration
	LeaderElect bool
	// LeaseNamespace is where the lease lives; LeaseName what it is called.
	LeaseNamespace, LeaseName string
	LogLevel                  slog.Level
	// Patience is how long a right may be refused that we once had. An API server that has just started refuses everybody
	// until it has read its rules.
	Patience time.Duration
	// Version is what the process says it is; Spans is told of each event sent, nil tells nobody.
	Version string
	Spans   events.Spans
}

// ErrHelp says that help was asked for and has been written.
var ErrHelp = flag.ErrHelp

const envPrefix = "ETCDROLL_"

// otherEnv are the flags whose environment variable has a name that is known already.
var otherEnv = map[string]string{"sink": "K_SINK", "kubeconfig": "KUBECONFIG", "lease-namespace": "POD_NAMESPACE"}

// ParseOptions reads flags and, for flags that are not given, their environment variables. Every error is one line that
// names the flag. With --help it writes the explanation to out and returns ErrHelp.
func ParseOptions(args []string, getenv func(string) string, out io.Writer) (Options, error) {
	o := Options{Sink: events.SinkFromEnv(getenv), Patience: 30 * time.Second}
	flags := flag.NewFlagSet("trigger", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.bind(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		writeHelp(flags, out)
		return o, ErrHelp
	case err != nil:
		return o, err
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := fromEnv(flags, getenv); err != nil {
		return o, err
	}
	return o, o.validate()
}

func (o *Options) bind(f *flag.FlagSet) {
	f.StringVar(&o.Sink.URL, "sink", "", "`URL` that events are posted to, http or https: the function, or a broker's ingress")
	f.DurationVar(&o.Sink.Try, "try-timeout", events.DefaultTry, "deadline of one POST to the sink")
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "`file` with the API server's address and credentials (default: the pod's own service account)")
	f.Func("namespaces", "comma-separated `list` of namespaces to watch (default: all)", func(s string) error {
		o.Scope.Namespaces = splitList(s)
		return nil
	})
	f.StringVar(&o.Scope.PodSelector, "pod-selector", "", "label `selector` of the pods to watch; pods of StatefulSets are told by their owner, this only saves memory (default: all pods)")
	f.StringVar(&o.Listen, "listen", ":8080", "`address` of /healthz, /readyz and /metrics")
	f.IntVar(&o.Workers, "workers", 8, "how many sets are served at the same time")
	f.IntVar(&o.Limits.MaxRolling, "max-rolling", 0, "how many sets may roll at the same time, 0 for any number; sets wait in the order of their "+events.AnnotationWave+" annotation, then of "+events.AnnotationPriority+", then of their age")
	f.BoolVar(&o.Limits.RequireApproval, "require-approval", false, "let a set start only once its annotation "+events.AnnotationApproved+" names its status.updateRevision")
	f.DurationVar(&o.Resync, "resync-relist", 10*time.Minute, "interval at which the caches are compared with a fresh list, independent of the watches")
	f.DurationVar(&o.SyncTimeout, "sync-timeout", 30*time.Second, "exit if the caches are not filled by then; behind a proxy that holds watches back, try KUBE_FEATURE_WatchListClient=false")
	f.BoolVar(&o.LeaderElect, "leader-elect", true, "send only while holding a Lease, so that several replicas can run")
	f.StringVar(&o.LeaseNamespace, "lease-namespace", "", "`namespace` of the Lease (default: the pod's own)")
	f.StringVar(&o.LeaseName, "lease-name", "etcdroll-trigger", "`name` of the Lease")
	f.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "least `level` that is logged: debug, info, warn or error")
}

// fallbackEnv counts when neither the flag nor its own variable is given. A manifest names the usual sink by it, so that
// a SinkBinding, which sets K_SINK, wins and nothing has to be taken out.
var fallbackEnv = map[string]string{"sink": envPrefix + "SINK"}

func envName(flagName string) string {
	if name, ok := otherEnv[flagName]; ok {
		return name
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

func fromEnv(flags *flag.FlagSet, getenv func(string) string) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var problem error
	flags.VisitAll(func(f *flag.Flag) {
		name := envName(f.Name)
		if fallback, has := fallbackEnv[f.Name]; has && getenv(name) == "" {
			name = fallback
		}
		value := getenv(name)
		if given[f.Name] || value == "" || problem != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			problem = fmt.Errorf("invalid value %q for %s: %w", value, name, err)
		}
	})
	return problem
}

func (o *Options) validate() error {
	switch {
	case o.Workers < 1:
		return fmt.Errorf("--workers must be at least 1, not %d", o.Workers)
	case o.Limits.MaxRolling < 0:
		return fmt.Errorf("--max-rolling must not be negative, not %d", o.Limits.MaxRolling)
	case o.Resync < time.Minute:
		return fmt.Errorf("--resync-relist must be at least 1m, not %s", o.Resync)
	case o.SyncTimeout <= 0:
		return fmt.Errorf("--sync-timeout must be positive, not %s", o.SyncTimeout)
	case o.Sink.Try <= 0:
		return fmt.Errorf("--try-timeout must be positive, not %s", o.Sink.Try)
	}
	for _, namespace := range o.Scope.Namespaces {
		if err := (events.Target{Namespace: namespace, Name: "x"}).Validate(); err != nil {
			return fmt.Errorf("--namespaces: %w", err)
		}
	}
	if _, err := labels.Parse(o.Scope.PodSelector); err != nil {
		return fmt.Errorf("--pod-selector: %w", err)
	}
	if _, err := events.NewSender(o.Sink); err != nil && !errors.Is(err, events.ErrNoSink) {
		return err
	}
	return nil
}

func splitList(s string) (list []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(list, part) {
			list = append(list, part)
		}
	}
	return list
}

const helpHead = `trigger watches the StatefulSets labelled etcdroll.dev/managed=true and their pods, and posts one CloudEvent
for each set about which something is to be done.

Each flag has an environment variable, which counts when the flag is not given. A SinkBinding's K_SINK,
K_CE_OVERRIDES and K_CA_CERTS are honoured, and so is the token in /oidc/token. ETCDROLL_SINK counts when K_SINK
is not set.

`

func writeHelp(flags *flag.FlagSet, out io.Writer) {
	_, _ = io.WriteString(out, helpHead)
	flags.VisitAll(func(f *flag.Flag) {
		kind, usage := flag.UnquoteUsage(f)
		_, _ = fmt.Fprintf(out, "  --%s %s\n        %s", f.Name, kind, usage)
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" {
			_, _ = fmt.Fprintf(out, " (default %s)", f.DefValue)
		}
		_, _ = fmt.Fprintf(out, " [%s]\n", envName(f.Name))
	})
}

// podNamespaceFile is where every pod finds the name of its own namespace.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// leaseNamespace is the flag, else the pod's own namespace, else "default".
func (o Options) leaseNamespace() string {
	if o.LeaseNamespace != "" {
		return o.LeaseNamespace
	}
	if raw, err := os.ReadFile(podNamespaceFile); err == nil && len(raw) > 0 {
		return strings.TrimSpace(string(raw))
	}
	return "default"
}
