package fn

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

func TestDocumentOfTheConfigurationIsGeneratedFromTheKeys(t *testing.T) {
	text, path := configurationDocument(), filepath.Join("..", "..", "docs", "configuration.md")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != text {
		t.Errorf("docs/configuration.md is not what the keys say (%v); run make generate", err)
	}
}

// Whatever is taken from the set is documented as such, and nothing else is.
func TestWhatIsDerivedIsDocumentedAsDerived(t *testing.T) {
	s, problem := Configure(secureSet(), "")
	if problem != nil {
		t.Fatal(problem.Message)
	}
	for _, k := range keys {
		if taken := s.origin(k.path) != originDefault; taken != (k.derived != "") {
			t.Errorf("%s comes from %q and is documented as derived from %q", k.path, s.origin(k.path), k.derived)
		}
	}
}

func configurationDocument() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n<!-- Generated from pkg/fn/config_keys.go by `make generate`; do not edit. -->\n\n" +
		"The annotation `etcdroll.dev/config` of a set names a ConfigMap in its namespace; its key `" + ConfigKey + "` holds these keys, a dot\n" +
		"being one level of YAML. All are optional, and without the annotation nothing is configured at all: what the set shows is\n" +
		"taken from its pod template, the rest has a default. A key that is unknown, out of bounds or contradicts another is refused with its name\n" +
		"(`ConfigInvalid`), and the defaults below hold until it is mended. `kubectl etcdroll plan` prints every value and where it comes from.\n\n" +
		"| key | type | default | bounds | taken from the set | meaning |\n|---|---|---|---|---|---|\n")
	s := newSettings()
	s.ServerName = defaultServerName
	for _, k := range keys {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.path, k.kind(&s), k.fallback(&s), k.bounds(&s), k.derived, k.about)
	}
	b.WriteString("\nThe certificate paths are paths inside the etcd container; they are followed through its volume mounts to the Secret or projected volume\n" +
		"they come from, and read anew for every invocation.\n")
	return b.String()
}

func (k key) kind(s *Settings) string {
	switch k.at(s).(type) {
	case *string:
		return "text"
	case *bool:
		return "true or false"
	case *float64:
		return kindOf(true)
	}
	return kindOf(false)
}

// fallback is the default as one would write it in the file.
func (k key) fallback(s *Settings) string {
	switch v := k.at(s).(type) {
	case *time.Duration:
		return fmt.Sprintf("`%d`", *v/k.unit)
	case *string:
		if *v == "" {
			return ""
		}
	}
	return "`" + k.show(s) + "`"
}

func (k key) bounds(s *Settings) string {
	switch k.at(s).(type) {
	case *string:
		return "one line"
	case *bool:
		return ""
	}
	return fmt.Sprintf("%v to %v", k.min, int64(k.max))
}
