package guard

import (
	"fmt"
	"strings"
)

// alarmsAbsent: no alarm is raised. NOSPACE alone may be overridden; CORRUPT
// and any type not known here never.
func alarmsAbsent(s Snapshot, p Plan) Finding {
	const threshold = "no alarm"
	if !s.Probed || s.AlarmsRead != Yes {
		return object("alarms could not be read", threshold)
	}
	var raised []string
	kind := Soft
	for _, a := range s.Alarms {
		raised = append(raised, fmt.Sprintf("%s on member %s", a.Text, a.Member))
		if a.Kind != AlarmNoSpace {
			kind = Hard
		}
	}
	if len(raised) > 0 {
		f := object(strings.Join(raised, "; "), threshold)
		f.Kind = kind
		return f
	}
	return pass("none", threshold)
}

// headroom: a member that comes back must not run into its quota while it
// catches up.
func headroom(s Snapshot, p Plan) Finding {
	threshold := fmt.Sprintf("database below %.0f %% of its quota", 100*s.Limits.HeadroomStop)
	worst, note := 0.0, ""
	bad := eachMember(s, p, func(i int, m Member) string {
		share := float64(m.DBSize) / float64(quota(s, m))
		worst = max(worst, share)
		if share >= s.Limits.HeadroomStop {
			return fmt.Sprintf("uses %.0f %% of its quota", 100*share)
		}
		return ""
	})
	if worst >= s.Limits.HeadroomNote {
		note = fmt.Sprintf("the database is at %.0f %% of its quota; compact and defragment soon", 100*worst)
	}
	f := gateOver(s, bad, fmt.Sprintf("%.0f %%", 100*worst), threshold)
	f.Note = note
	return f
}

// defaultQuota is etcd's own when none is set.
const defaultQuota = 2 << 30

func quota(s Snapshot, m Member) int64 {
	switch {
	case m.Quota > 0:
		return m.Quota
	case s.Template.QuotaBytes > 0:
		return s.Template.QuotaBytes
	}
	return defaultQuota
}
