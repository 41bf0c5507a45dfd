package fn

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// clientPortNumber is etcd's own default port for clients.
const clientPortNumber = 2379

// process is the etcd process of a pod template: its container, and what the
// command line and the environment set. etcd lets a flag win over its
// environment variable.
type process struct {
	container *corev1.Container
	flags     map[string]string // without dashes; the last one given wins
	env       map[string]string // only those whose value the template shows
}

// findEtcd finds the container that runs etcd: by its command, else by its
// client port, else by its name, else because there is no other. False when
// none of these tells.
func findEtcd(spec *corev1.PodSpec) (process, bool) {
	tests := []func(*corev1.Container) bool{
		func(c *corev1.Container) bool { _, ok := etcdArguments(c, environment(c)); return ok },
		servesClients,
		func(c *corev1.Container) bool { return c.Name == "etcd" },
		func(*corev1.Container) bool { return len(spec.Containers) == 1 },
	}
	for _, test := range tests {
		for i := range spec.Containers {
			if c := &spec.Containers[i]; test(c) {
				return newProcess(c), true
			}
		}
	}
	return process{}, false
}

func newProcess(c *corev1.Container) process {
	env := environment(c)
	arguments, _ := etcdArguments(c, env)
	return process{container: c, env: env, flags: parseFlags(arguments)}
}

func servesClients(c *corev1.Container) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == "client" || p.ContainerPort == clientPortNumber
	})
}

// setting is the value of an etcd setting and where it comes from; empty when
// the template does not show it.
func (p process) setting(flag string) (value string, from Origin) {
	if v, ok := p.flags[flag]; ok {
		return v, Origin("argument --" + flag)
	}
	name := "ETCD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	if v, ok := p.env[name]; ok {
		return v, Origin("environment " + name)
	}
	return "", ""
}

// environment gives the variables whose values stand in the template, each
// expanded with those before it, as the kubelet does.
func environment(c *corev1.Container) map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			env[e.Name] = expand(e.Value, env)
		}
	}
	return env
}

// expand replaces $(NAME) by its value and $$ by $. A name that is not known
// stays as it is, as in Kubernetes.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for {
		dollar := strings.IndexByte(text, '$')
		if dollar < 0 || dollar == len(text)-1 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:dollar])
		rest := text[dollar+1:]
		end := strings.IndexByte(rest, ')')
		switch {
		case rest[0] == '$':
			out.WriteByte('$')
			text = rest[1:]
		case rest[0] == '(' && end > 0:
			if value, known := env[rest[1:end]]; known {
				out.WriteString(value)
			} else {
				out.WriteString("$" + rest[:end+1])
			}
			text = rest[end+1:]
		default:
			out.WriteByte('$')
			text = rest
		}
	}
}

// etcdArguments are the arguments that etcd is started with. False when the
// command line does not start etcd, as far as can be seen: an image may have
// etcd as its entry point, and then only flags that etcd alone has tell.
func etcdArguments(c *corev1.Container, env map[string]string) ([]string, bool) {
	line := slices.Concat(c.Command, c.Args)
	for i := range line {
		line[i] = expand(line[i], env)
	}
	for i, word := range line {
		if path.Base(word) == "etcd" {
			return line[i+1:], true
		}
		if strings.ContainsAny(word, " \n") {
			if arguments, ok := scriptArguments(word); ok {
				return arguments, true
			}
		}
	}
	if len(c.Command) == 0 && len(line) > 0 && strings.HasPrefix(line[0], "-") {
		flags := parseFlags(line)
		for _, known := range []string{"listen-client-urls", "advertise-client-urls", "initial-cluster", "listen-peer-urls"} {
			if _, ok := flags[known]; ok {
				return line, true
			}
		}
	}
	return nil, false
}

// scriptArguments finds the call of etcd in a shell script. The script is not
// understood, only searched: of several calls the one with the most flags.
func scriptArguments(script string) ([]string, bool) {
	script = strings.ReplaceAll(script, "\\\n", " ")
	for _, separator := range []string{";", "&&", "||", "|", "&"} {
		script = strings.ReplaceAll(script, separator, "\n")
	}
	var best []string
	found := false
	for line := range strings.Lines(script) {
		words := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(line))
		at := slices.IndexFunc(words, func(w string) bool { return path.Base(w) == "etcd" })
		if at >= 0 && (!found || len(parseFlags(words[at+1:])) >= len(parseFlags(best))) {
			best, found = words[at+1:], true
		}
	}
	return best, found
}

// parseFlags reads --name=value, --name value and --name, with one dash or
// two.
func parseFlags(arguments []string) map[string]string {
	flags := map[string]string{}
	for i := 0; i < len(arguments); i++ {
		word := arguments[i]
		name := strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
		if name == word || name == "" {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		if !given {
			value = "true"
			if i+1 < len(arguments) && isValue(arguments[i+1]) {
				i++
				value = arguments[i]
			}
		}
		flags[name] = value
	}
	return flags
}

// isValue tells a flag's value from the next flag; -1 is a value.
func isValue(word string) bool {
	return !strings.HasPrefix(word, "-") || (len(word) > 1 && word[1] >= '0' && word[1] <= '9')
}
