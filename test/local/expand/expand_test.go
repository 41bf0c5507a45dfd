package expand

import "testing"

func TestString(t *testing.T) {
	vars := map[string]string{"IP": "127.16.0.1", "EMPTY": "", "NESTED": "$(IP)"}
	for in, want := range map[string]string{
		"plain":                  "plain",
		"http://$(IP):2379":      "http://127.16.0.1:2379",
		"$(IP)$(IP)":             "127.16.0.1127.16.0.1",
		"$(EMPTY)":               "",
		"$(UNKNOWN)":             "$(UNKNOWN)",
		"$$(IP)":                 "$(IP)",
		"$$$(IP)":                "$127.16.0.1",
		"$(NESTED)":              "$(IP)",
		"$(IP":                   "$(IP",
		"$IP $":                  "$IP $",
		"costs 5$ or $(IP) in $": "costs 5$ or 127.16.0.1 in $",
		"":                       "",
	} {
		if got := String(in, vars); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
	}
}
