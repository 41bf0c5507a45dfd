package guard

import (
	"fmt"
	"strings"
)

// floor is the oldest patch of the minor before from which a minor may be
// entered, with the reason and its source.
type floor struct {
	to       string
	from     Version
	advise   Version // better still; noted only
	because  string
	source   string
	authBars bool // never with authentication enabled
}

// floors is the one table of upgrade rules. One minor at a time is a rule of
// its own, below.
var floors = []floor{
	{
		to: "3.5", authBars: true,
		because: "3.5 changed the log entries of authentication, which 3.4 members cannot read",
		source:  "https://etcd.io/docs/v3.5/upgrades/upgrade_3_5/",
	},
	{
		to: "3.6", from: Version{3, 5, 26}, advise: Version{3, 5, 32},
		because: "earlier 3.5 patches leave removed members and unpromoted learners in the v3 store, which 3.6 trusts",
		source:  "https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/",
	},
	{
		to: "3.7", from: Version{3, 6, 11},
		because: "earlier 3.6 patches may not run beside 3.7",
		source:  "https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/",
	},
}

// removed are the flag prefixes a version no longer knows.
var removed = []struct {
	since  Version
	prefix string
}{
	{Version{3, 7, 0}, "experimental-"},
	{Version{3, 6, 0}, "enable-v2"},
	{Version{3, 6, 0}, "proxy"},
}

// removedFlags are those of the template's flags that the target dropped.
func removedFlags(flags []string, target Version) []string {
	var gone []string
	for _, f := range flags {
		for _, r := range removed {
			if target.Known() && target.AtLeast(r.since) && strings.HasPrefix(f, r.prefix) {
				gone = append(gone, "--"+f)
				break
			}
		}
	}
	return gone
}

// targetVersion is what the roll leads to: the image tag where it parses,
// else the highest version among the members that run the target already.
func targetVersion(s Snapshot) Version {
	if v := ParseVersion(s.Template.Version); v.Known() {
		return v
	}
	var highest Version
	for i := range s.Set.Indexes() {
		v := ParseVersion(s.Member(i).Version)
		if s.Pod(i).Revision == s.Set.UpdateRevision && s.Member(i).Reached && v.AtLeast(highest) {
			highest = v
		}
	}
	return highest
}

// versionPath: etcd supports the way from what runs to what is wanted.
func versionPath(s Snapshot, p Plan) Finding {
	const threshold = "one minor at a time, from a patch that allows it, never below the cluster version"
	var lowest, highest Version
	unread := eachMember(s, p, func(_ int, m Member) string {
		v := ParseVersion(m.Version)
		if !v.Known() {
			return "did not tell its version"
		}
		if !lowest.Known() || !v.AtLeast(lowest) {
			lowest = v
		}
		if v.AtLeast(highest) {
			highest = v
		}
		return ""
	})
	if f := gateOver(s, unread, "", threshold); !f.Passed {
		return f
	}
	if !lowest.Known() {
		// Nobody but the broken victim: there is no version to step away from.
		return pass("no other member", threshold)
	}
	target := targetVersion(s)
	if highest.minorsAbove(lowest) > 1 {
		return object(fmt.Sprintf("members run %s and %s", lowest, highest), threshold)
	}
	if !target.Known() {
		f := pass("members run "+lowest.String()+", target unknown", threshold)
		f.Note = "the image tag names no version; the first updated member will tell it before the second is touched"
		return f
	}
	if why := pathFault(s, p, lowest, target); why != "" {
		return object(why, threshold)
	}
	f := pass(fmt.Sprintf("%s to %s", lowest, target), threshold)
	f.Note = advice(s, p, target)
	return f
}

// pathFault is why the way from the lowest member to the target is closed.
// The lowest minor among the members is the cluster version: etcd settles on
// it, so going back to it in mid-roll is a revert, not a downgrade.
func pathFault(s Snapshot, p Plan, lowest, target Version) string {
	up := target.minorsAbove(lowest)
	switch {
	case up > 1:
		return fmt.Sprintf("%s to %s skips a minor version", lowest, target)
	case up < 0:
		return downgradeFault(s, p, lowest, target)
	}
	for _, f := range floors {
		if f.to != target.Line() {
			continue
		}
		if f.authBars && up == 1 && s.Auth != No {
			return fmt.Sprintf("%s to %s with authentication enabled or unknown: %s", lowest, target, f.because)
		}
		bad := eachMember(s, p, func(_ int, m Member) string {
			v := ParseVersion(m.Version)
			if target.minorsAbove(v) == 1 && !v.AtLeast(f.from) {
				return "runs " + v.String()
			}
			return ""
		})
		if len(bad) > 0 {
			return fmt.Sprintf("%s; %s needs at least %s on every member: %s (%s)", strings.Join(bad, "; "), f.to, f.from, f.because, f.source)
		}
	}
	return ""
}

func downgradeFault(s Snapshot, p Plan, lowest, target Version) string {
	if lowest.minorsAbove(target) > 1 {
		return fmt.Sprintf("%s to %s goes down more than one minor version", lowest, target)
	}
	bad := eachMember(s, p, func(_ int, m Member) string {
		if ParseVersion(m.Version).minorsAbove(target) >= 1 && ParseVersion(m.DowngradeTo+".0").Line() != target.Line() {
			return "reports no downgrade to " + target.Line()
		}
		return ""
	})
	if len(bad) == 0 {
		return ""
	}
	return fmt.Sprintf("%s to %s is below the cluster version and no downgrade is enabled: run etcdctl downgrade enable %s first", lowest, target, target.Line())
}

func advice(s Snapshot, p Plan, target Version) string {
	for _, f := range floors {
		if f.to != target.Line() || !f.advise.Known() {
			continue
		}
		old := eachMember(s, p, func(_ int, m Member) string {
			v := ParseVersion(m.Version)
			if target.minorsAbove(v) == 1 && !v.AtLeast(f.advise) {
				return "runs " + v.String()
			}
			return ""
		})
		if len(old) > 0 {
			return fmt.Sprintf("%s; %s is recommended before %s", strings.Join(old, "; "), f.advise, f.to)
		}
	}
	return ""
}
