// Package expand replaces $(NAME) references in commands, arguments and
// environment values by the rules of the Pod API.
package expand

import "strings"

// String replaces each $(NAME) that vars defines. An undefined or unclosed
// reference stays as it is written, and $$ stands for one dollar sign, so that
// $$(NAME) is never expanded.
func String(s string, vars map[string]string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(s, '$')
		if at < 0 || at == len(s)-1 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at])
		out, used := reference(s[at:], vars)
		b.WriteString(out)
		s = s[at+used:]
	}
}

// reference reads one reference at the start of s, which begins with a dollar
// sign and has at least one more byte, and returns its text and its length in s.
func reference(s string, vars map[string]string) (string, int) {
	switch s[1] {
	case '$':
		return "$", 2
	case '(':
		end := strings.IndexByte(s, ')')
		if end < 0 {
			return "$(", 2
		}
		if value, defined := vars[s[2:end]]; defined {
			return value, end + 1
		}
		return s[:end+1], end + 1
	default:
		return "$", 1
	}
}

// Strings is String for every element.
func Strings(in []string, vars map[string]string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		out = append(out, String(s, vars))
	}
	return out
}
