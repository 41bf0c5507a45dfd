package events

import (
	"fmt"
	"regexp"
	"strings"
)

// Target names the one StatefulSet that an event is about.
type Target struct {
	Namespace string
	Name      string
}

// Names are held to the rules of the API server, so that a subject can never reach outside of
// /namespaces/NS/statefulsets/NAME. A namespace is a DNS-1123 label. The name of a set is formally a subdomain, but a
// set whose name holds a dot cannot name its pods' hosts, so only a label is accepted; 63 characters at most.
var dns1123Label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

const maxLabel = 63

// Subject is the CloudEvents subject: "namespace/name".
func (t Target) Subject() string { return t.Namespace + "/" + t.Name }

// String is the subject, for logs.
func (t Target) String() string { return t.Subject() }

// Validate says which part of the target is no valid name.
func (t Target) Validate() error {
	if err := checkName("namespace", t.Namespace); err != nil {
		return err
	}
	return checkName("name", t.Name)
}

// ParseSubject reads "namespace/name". Both must be DNS-1123 labels.
func ParseSubject(subject string) (Target, error) {
	namespace, name, found := strings.Cut(subject, "/")
	if !found {
		return Target{}, fmt.Errorf("%s is not of the form namespace/name", quote(subject))
	}
	t := Target{Namespace: namespace, Name: name}
	return t, t.Validate()
}

// parseAPIPath reads the subject that Knative's ApiServerSource gives to events about a StatefulSet,
// "/apis/apps/v1/namespaces/NS/statefulsets/NAME". The second result is false for any other resource.
func parseAPIPath(subject string) (t Target, isSet bool, err error) {
	parts := strings.Split(subject, "/")
	if len(parts) != 8 || parts[0] != "" || parts[1] != "apis" || parts[2] != "apps" ||
		parts[4] != "namespaces" || parts[6] != "statefulsets" {
		return Target{}, false, nil
	}
	t = Target{Namespace: parts[5], Name: parts[7]}
	return t, true, t.Validate()
}

func checkName(what, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is empty", what)
	case len(value) > maxLabel:
		return fmt.Errorf("%s has %d characters, at most %d are allowed", what, len(value), maxLabel)
	case !dns1123Label.MatchString(value):
		return fmt.Errorf("%s %s is not a DNS-1123 label (lower case letters, digits and inner dashes)", what, quote(value))
	}
	return nil
}

// quote makes text from outside safe and short enough for a log line.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
