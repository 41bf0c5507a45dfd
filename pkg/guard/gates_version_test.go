package guard

import (
	"strings"
	"testing"
)

func TestVersionPath(t *testing.T) {
	cases := []struct {
		id, target string
		members    string
		spoil      func(*Snapshot)
		open       bool
		says       string
	}{
		{"", "v3.6.17", "3.6.16 3.6.16 3.6.16", nil, true, ""},
		{"", "3.6.16", "3.5.35 3.5.35 3.5.35", nil, true, ""},
		{"", "3.7.3", "3.6.16 3.6.16 3.6.16", nil, true, ""},
		{"ET-25", "3.6.16", "3.5.35 3.5.24 3.5.35", nil, false, "needs at least 3.5.26"},
		{"ET-24", "3.6.16", "3.5.19 3.5.19 3.5.19", nil, false, "upgrade_3_6"},
		{"", "3.6.16", "3.5.26 3.5.26 3.5.26", nil, true, "3.5.32 is recommended"},
		{"ET-26", "3.7.0", "3.6.10 3.6.16 3.6.16", nil, false, "3.6.11"},
		{"ET-27", "3.7.3", "3.5.35 3.5.35 3.5.35", nil, false, "skips a minor"},
		{"ET-27", "3.6.16", "3.4.34 3.4.34 3.4.34", nil, false, "skips a minor"},
		{"ET-27", "", "3.4.34 3.4.34 3.6.16", nil, false, "members run"},
		{"ET-28", "3.5.35", "3.6.16 3.6.16 3.6.16", nil, false, "downgrade enable 3.5"},
		{"ET-28", "3.5.35", "3.6.16 3.6.16 3.5.35", nil, true, ""},
		{"ET-28", "3.5.35", "3.6.16 3.6.16 3.6.16", func(s *Snapshot) {
			for i := range s.Members {
				s.Members[i].DowngradeTo = "3.5"
			}
		}, true, ""},
		{"ET-28", "3.5.35", "3.6.16 3.6.16 3.6.16", func(s *Snapshot) { s.Members[0].DowngradeTo = "3.5" }, false, "downgrade"},
		{"ET-28", "3.5.35", "3.7.3 3.7.3 3.7.3", nil, false, "down more than one"},
		{"", "4.0.0", "3.7.3 3.7.3 3.7.3", nil, false, "skips"},
		{"", "3.5.35", "3.4.34 3.4.34 3.4.34", nil, true, ""},
		{"", "3.5.35", "3.4.34 3.4.34 3.4.34", func(s *Snapshot) { s.Auth = Yes }, false, "authentication"},
		{"", "3.5.35", "3.4.34 3.4.34 3.4.34", func(s *Snapshot) { s.Auth = Unknown }, false, "unknown"},
		{"SS-31", "", "3.6.16 3.6.16 3.6.16", nil, true, "names no version"},
		{"SS-31", "", "3.5.35 3.5.35 3.6.16", func(s *Snapshot) { s.Pods[2].Revision = "b" }, true, ""},
		{"SS-31", "", "3.5.24 3.5.24 3.6.16", func(s *Snapshot) { s.Pods[2].Revision = "b" }, false, "3.5.26"},
	}
	for _, c := range cases {
		t.Run(strings.TrimSpace(c.id+" "+c.members+" to "+c.target), func(t *testing.T) {
			s := healthy(3)
			s.Template.Version = c.target
			for i, v := range strings.Fields(c.members) {
				s.Members[i].Version = v
			}
			if c.spoil != nil {
				c.spoil(&s)
			}
			f := Judge(s, Plan{Victim: 1}).Get(VersionPath)
			if f.Passed != c.open || !strings.Contains(f.Measured+f.Note, c.says) {
				t.Errorf("open %t, says %q, notes %q", f.Passed, f.Measured, f.Note)
			}
		})
	}
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"v3.6.16": {3, 6, 16}, "3.5.0": {3, 5, 0}, "3.7.0-rc.1": {3, 7, 0}, "3.7.3+x": {3, 7, 3},
		"": {}, "latest": {}, "3.6": {}, "v3.6.x": {}, "3.6.-1": {}, "3.6.16.1": {}, "99999999999999999999.1.1": {},
	} {
		if got := ParseVersion(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
