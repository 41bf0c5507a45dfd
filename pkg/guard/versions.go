package guard

import (
	"strconv"
	"strings"
)

// Version is an etcd version without its pre-release part.
type Version struct{ Major, Minor, Patch int }

// String gives "3.6.16".
func (v Version) String() string {
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) + "." + strconv.Itoa(v.Patch)
}

// Known says that the version was read.
func (v Version) Known() bool { return v.Major > 0 }

// Line is the version without its patch: "3.6".
func (v Version) Line() string { return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) }

// minorsAbove is how many minor versions v is above w. Another major counts
// as far away, since no path between majors is known.
func (v Version) minorsAbove(w Version) int {
	if v.Major != w.Major {
		return 100 * (v.Major - w.Major)
	}
	return v.Minor - w.Minor
}

// AtLeast compares whole versions.
func (v Version) AtLeast(w Version) bool {
	if v.Line() != w.Line() {
		return v.minorsAbove(w) > 0
	}
	return v.Patch >= w.Patch
}

// ParseVersion reads "v3.6.16", "3.6.16" or "3.6.16-rc.0+x". Anything else,
// such as "latest" or a digest, is the zero Version.
func ParseVersion(text string) Version {
	text = strings.TrimPrefix(text, "v")
	if cut := strings.IndexAny(text, "-+"); cut >= 0 {
		text = text[:cut]
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Version{}
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || v > 9999 {
			return Version{}
		}
		n[i] = v
	}
	return Version{n[0], n[1], n[2]}
}
