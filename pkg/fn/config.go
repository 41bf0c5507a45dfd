package fn

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// ConfigKey is the key of the ConfigMap that holds the configuration.
const ConfigKey = "config.yaml"

// Origin says where a value comes from, in words for people: "config.yaml key
// tls.caFile", "argument --cert-file", "default".
type Origin string

const originDefault Origin = "default"

// Settings are the configuration of one set: what config.yaml says, what the
// set itself shows where it says nothing, and defaults for the rest. Nothing
// in it ever comes from an event.
type Settings struct {
	setName, namespace string // what config.yaml says it is for

	Service string // governing service, for the names in certificates
	Port    int    // client port of every member
	TLS     bool

	// Where the certificates lie inside the etcd pod. Not used when TLSSecret
	// is set.
	CAFile, CertFile, KeyFile string
	TLSSecret                 string // Secret with ca.crt, tls.crt, tls.key
	ServerName                string // template of the name in the members' certificates
	AuthSecret                string // Secret with username, password; "" takes the certificate's name

	Limits guard.Limits

	origins map[string]Origin // by key
}

// Line explains one setting.
type Line struct {
	Key, Value string
	Origin     Origin
	About      string
}

// Explain lists every setting with its value and where it comes from.
func (s *Settings) Explain() []Line {
	var lines []Line
	for _, k := range keys {
		lines = append(lines, Line{Key: k.path, Value: k.show(s), Origin: s.origin(k.path), About: k.about})
	}
	return lines
}

func (s *Settings) origin(key string) Origin {
	if from, ok := s.origins[key]; ok {
		return from
	}
	return originDefault
}

// given says that config.yaml has the key.
func (s *Settings) given(key string) bool { return s.origins[key] == originFile(key) }

func originFile(key string) Origin { return Origin(ConfigKey + " key " + key) }

// derive fills in a value that config.yaml leaves open.
func (s *Settings) derive(key string, from Origin, fill func()) {
	if s.given(key) || from == "" {
		return
	}
	fill()
	s.origins[key] = from
}

// Configure works out the settings of a set from the text of its config.yaml,
// which may be empty. With a problem the settings are still usable where they
// do not depend on it: thresholds are the documented defaults then.
func Configure(set *appsv1.StatefulSet, text string) (Settings, *roll.ConfigProblem) {
	s, problem := readConfig(text)
	if problem != nil {
		return s, problem
	}
	if problem := s.deriveFrom(set); problem != nil {
		return s, problem
	}
	return s, s.contradiction(set)
}

func newSettings() Settings {
	return Settings{Port: clientPortNumber, Limits: guard.DefaultLimits(), origins: map[string]Origin{}}
}

// show renders the value for people.
func (k key) show(s *Settings) string {
	switch v := k.at(s).(type) {
	case *string:
		return *v
	case *time.Duration:
		return v.String()
	case *int:
		return fmt.Sprint(*v)
	case *uint64:
		return fmt.Sprint(*v)
	case *bool:
		return fmt.Sprint(*v)
	case *float64:
		return fmt.Sprint(*v)
	}
	return ""
}
