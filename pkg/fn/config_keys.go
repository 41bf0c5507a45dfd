package fn

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
)

// key is one key of config.yaml.
type key struct {
	path     string // with dots
	about    string // what it means, for plan and for the documentation
	derived  string // from what of the set, when the file is silent; "" takes the default
	min, max float64
	unit     time.Duration       // of a duration
	at       func(*Settings) any // where the value goes
}

const day = 24 * 3600

// keys is the whole of config.yaml. The first eleven are those of the shell
// rollout that etcdroll replaces.
var keys = []key{
	{path: "stsName", about: "the set this configuration is for; a check only", at: func(s *Settings) any { return &s.setName }},
	{path: "namespace", about: "its namespace; a check only", at: func(s *Settings) any { return &s.namespace }},
	{path: "serviceName", derived: "`spec.serviceName`", about: "governing service, part of the name in certificates", at: func(s *Settings) any { return &s.Service }},
	{path: "clientPort", derived: "`--listen-client-urls` or `--advertise-client-urls` of the etcd container (argument or environment), else its port named `client`", about: "client port of every member", min: 1, max: 65535, at: func(s *Settings) any { return &s.Port }},
	{path: "tls.enabled", derived: "the scheme of the same address, else `--cert-file`", about: "members serve clients over TLS", at: func(s *Settings) any { return &s.TLS }},
	{path: "tls.caFile", derived: "`--trusted-ca-file`, else `ca.crt` beside the certificate", about: "path inside the etcd pod of the CA to trust", at: func(s *Settings) any { return &s.CAFile }},
	{path: "tls.certFile", derived: "`--cert-file`", about: "path inside the etcd pod of our client certificate", at: func(s *Settings) any { return &s.CertFile }},
	{path: "tls.keyFile", derived: "`--key-file`", about: "path inside the etcd pod of its key", at: func(s *Settings) any { return &s.KeyFile }},
	{path: "cooldownSeconds", about: "a pod is Ready this long before the next step, by stamps in whole seconds: up to a second less", max: day, unit: time.Second, at: func(s *Settings) any { return &s.Limits.Cooldown }},
	{path: "readyTimeoutSeconds", about: "from a pod's release to Ready", min: 1, max: day, unit: time.Second, at: func(s *Settings) any { return &s.Limits.ReadyTimeout }},
	{path: "healthTimeoutSeconds", about: "from Ready to a healthy member", min: 1, max: day, unit: time.Second, at: func(s *Settings) any { return &s.Limits.HealthTimeout }},

	{path: "tls.secretName", about: "Secret with ca.crt, tls.crt and tls.key, instead of the three paths", at: func(s *Settings) any { return &s.TLSSecret }},
	{path: "tls.serverName", about: "name in the members' certificates; {pod}, {service} and {namespace} are replaced", at: func(s *Settings) any { return &s.ServerName }},
	{path: "auth.secretName", about: "Secret with username and password of an etcd user", at: func(s *Settings) any { return &s.AuthSecret }},
	{path: "allowDowntime", about: "one or two voters may be rolled, which interrupts the service", at: func(s *Settings) any { return &s.Limits.AllowDowntime }},

	{path: "gates.termStable.quietSeconds", about: "no unexplained election for this long", max: day, unit: time.Second, at: func(s *Settings) any { return &s.Limits.TermQuiet }},
	{path: "gates.caughtUp.maxLag", about: "entries behind at which catching up is not waited for", max: math.MaxInt32, at: func(s *Settings) any { return &s.Limits.MaxLag }},
	{path: "gates.caughtUp.ratio", about: "accept this share of the leader's revision instead of its commit index", max: 1, at: func(s *Settings) any { return &s.Limits.CatchUpRatio }},
	{path: "gates.headroom.note", about: "share of the quota that is worth a note", max: 1, at: func(s *Settings) any { return &s.Limits.HeadroomNote }},
	{path: "gates.headroom.stop", about: "share of the quota that closes the gate", max: 1, at: func(s *Settings) any { return &s.Limits.HeadroomStop }},
	{path: "gates.templateLint.minGraceSeconds", about: "shortest terminationGracePeriodSeconds", max: day, unit: time.Second, at: func(s *Settings) any { return &s.Limits.MinGrace }},
	{path: "gates.templateLint.allowEphemeral", about: "data need not be on a persistent volume", at: func(s *Settings) any { return &s.Limits.AllowEphemeral }},
	{path: "steps.armWindowSeconds", about: "a release not acted on is taken back after this", min: 1, max: 600, unit: time.Second, at: func(s *Settings) any { return &s.Limits.ArmWindow }},
	{path: "steps.candidateUpSeconds", about: "a new leader has been up this long, if there is a choice", max: day, unit: time.Second, at: func(s *Settings) any { return &s.Limits.CandidateUp }},
	{path: "steps.slowReadMilliseconds", about: "a candidate whose read takes longer comes last", max: 60000, unit: time.Millisecond, at: func(s *Settings) any { return &s.Limits.SlowRead }},
	{path: "steps.attempts", about: "attempts per pod and revision", min: 1, max: 100, at: func(s *Settings) any { return &s.Limits.Attempts }},
	{path: "steps.moveTries", about: "leader moves tried per candidate", min: 1, max: 100, at: func(s *Settings) any { return &s.Limits.MoveTries }},
	{path: "steps.revisionsPerHour", about: "templates given up within an hour before it counts as flapping", min: 1, max: 40, at: func(s *Settings) any { return &s.Limits.RevisionsPerHour }},
}

// readConfig reads config.yaml strictly. All problems are told at once.
func readConfig(text string) (Settings, *roll.ConfigProblem) {
	s := newSettings()
	var document map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &document); err != nil {
		return newSettings(), invalid("%s: not a YAML mapping with unique keys: %s", ConfigKey, oneLine(err.Error(), 300))
	}
	var problems []string
	for path, value := range flatten("", document) {
		if err := s.set(path, value); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return newSettings(), invalid("%s: %s", ConfigKey, strings.Join(problems, "; "))
	}
	return s, nil
}

// flatten names every leaf by its path. A key without a value is as good as
// none; a mapping where a value belongs is kept as it is, to be refused.
func flatten(prefix string, document map[string]any) map[string]any {
	leaves := map[string]any{}
	for name, value := range document {
		path := prefix + name
		inner, isMapping := value.(map[string]any)
		switch {
		case value == nil && (isGroup(path) || keyAt(path) != nil):
		case isMapping && isGroup(path):
			for p, v := range flatten(path+".", inner) {
				leaves[p] = v
			}
		default:
			leaves[path] = value
		}
	}
	return leaves
}

func isGroup(path string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return strings.HasPrefix(k.path, path+".") })
}

func keyAt(path string) *key {
	i := slices.IndexFunc(keys, func(k key) bool { return k.path == path })
	if i < 0 {
		return nil
	}
	return &keys[i]
}

// set takes one value, or says what is wrong with it and what would be right.
func (s *Settings) set(path string, value any) error {
	k := keyAt(path)
	switch {
	case k == nil && isGroup(path):
		return fmt.Errorf("key %s: %s is no mapping; it has the keys %s", path, quoted(fmt.Sprint(value)), below(path))
	case k == nil:
		return fmt.Errorf("unknown key %s: remove it or use one of %s", quoted(path), below(parent(path)))
	}
	if err := k.assign(k.at(s), value); err != nil {
		return fmt.Errorf("key %s: value %s: %w", path, quoted(fmt.Sprint(value)), err)
	}
	s.origins[path] = originFile(path)
	return nil
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}

// below lists the keys of a group, or of the top.
func below(group string) string {
	var names []string
	for _, k := range keys {
		rest := k.path
		if group != "" {
			var inside bool
			if rest, inside = strings.CutPrefix(k.path, group+"."); !inside {
				continue
			}
		}
		if name, _, _ := strings.Cut(rest, "."); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return below("")
	}
	return strings.Join(names, ", ")
}

// assign takes a value of the right kind. Numbers and booleans in quotes are
// accepted: the shell rollout did not tell the difference.
func (k key) assign(to, value any) error {
	switch to := to.(type) {
	case *string:
		text, ok := value.(string)
		if !ok || text != oneLine(text, 253) {
			return fmt.Errorf("write a text of one line")
		}
		*to = text
		return nil
	case *bool:
		b, err := strconv.ParseBool(fmt.Sprint(value))
		if err != nil {
			return fmt.Errorf("write true or false")
		}
		*to = b
		return nil
	}
	n, err := strconv.ParseFloat(fmt.Sprint(value), 64)
	share, isShare := to.(*float64)
	if err != nil || !(n >= k.min && n <= k.max) || (!isShare && n != math.Trunc(n)) {
		return fmt.Errorf("write a %s from %v to %v", kindOf(isShare), k.min, k.max)
	}
	switch to := to.(type) {
	case *int:
		*to = int(n)
	case *uint64:
		*to = uint64(n)
	case *time.Duration:
		*to = time.Duration(n) * k.unit
	case *float64:
		*share = n
	}
	return nil
}

func kindOf(share bool) string {
	if share {
		return "number"
	}
	return "whole number"
}
