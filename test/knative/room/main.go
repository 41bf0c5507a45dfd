// Command room runs a program in a network namespace of its own, so that it may
// listen on every address without meeting anybody else, as in a pod. The room has
// nothing but a loopback interface; named TCP ports lead in and out of it.
//
//	room -in 127.201.0.2:8012 -out 6443 -out 80=127.0.0.1:24001 -- PROGRAM ARGUMENT...
//
// -in ADDRESS:PORT[=PORT] listens outside and passes connections to the port on
// the room's 127.0.0.1. Without ADDRESS it is this pod's own.
// -out PORT[=[ADDRESS:]PORT] listens inside, on every address, and passes
// connections to the port outside. Without ADDRESS it is the one that was dialled,
// with 127 as its first octet: 127.1.2.3 leads to itself, and so does 10.1.2.3,
// which Endpoints may hold.
// -env NAME=VALUE adds to the program's environment, -hosts FILE is its
// /etc/hosts. Variables in the values of flags are replaced.
//
// It needs the right to make network name spaces: root, or a user name space.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(value string) error {
	*l = append(*l, os.ExpandEnv(value))
	return nil
}

func main() {
	var in, out, env list
	flag.Var(&in, "in", "way into the room")
	flag.Var(&out, "out", "way out of the room")
	flag.Var(&env, "env", "variable of the program")
	hosts := flag.String("hosts", "", "file that is the program's /etc/hosts")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "room: no program")
		os.Exit(2)
	}
	code, err := run(in, out, env, *hosts, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "room:", err)
	}
	os.Exit(code)
}

func run(in, out, env []string, hosts string, command []string) (int, error) {
	ways, err := parse(in, out)
	if err != nil {
		return 2, err
	}
	r, err := open(hosts)
	if err != nil {
		return 1, err
	}
	for _, w := range ways {
		if err := r.join(w); err != nil {
			return 1, err
		}
	}
	return r.live(command, env)
}
