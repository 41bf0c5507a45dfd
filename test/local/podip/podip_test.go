package podip

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestForIsStable(t *testing.T) {
	// Copies of this function exist in other modules; these values pin all of them.
	want := map[[2]string]string{
		{"default", "etcd-0"}: "127.49.65.187",
		{"default", "etcd-1"}: "127.83.71.90",
		{"demo", "etcd-0"}:    "127.106.55.207",
	}
	for k, ip := range want {
		if got := For(k[0], k[1]); got != ip {
			t.Errorf("For(%q, %q) = %s, want %s", k[0], k[1], got, ip)
		}
	}
}

func TestForStaysInsideTheRange(t *testing.T) {
	low, high := netip.MustParseAddr("127.16.0.1"), netip.MustParseAddr("127.127.255.254")
	for i := range 20000 {
		ip, err := netip.ParseAddr(For("ns", fmt.Sprintf("pod-%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		last := ip.As4()[3]
		if ip.Less(low) || high.Less(ip) || last == 0 || last == 255 {
			t.Fatalf("pod-%d got %s", i, ip)
		}
	}
}

func TestMembersOfOneSetDiffer(t *testing.T) {
	for _, ns := range []string{"default", "demo", "a-much-longer-namespace-name"} {
		seen := map[string]string{}
		for i := range 16 {
			name := fmt.Sprintf("etcd-%d", i)
			ip := For(ns, name)
			if other, taken := seen[ip]; taken {
				t.Errorf("%s/%s and %s share %s", ns, name, other, ip)
			}
			seen[ip] = name
		}
	}
}
