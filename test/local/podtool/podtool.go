// Package podtool is, when imported, the program of the built-in pause image: it waits and, for
// tests, behaves in a few other ways.
package podtool

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is the hidden subcommand.
const Command = "pod-tool"

// Done here for the same reason as in package inside: exec probes that use this
// program should be cheap.
func init() {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(run(os.Args[2:]))
	}
}

// run shows one behaviour and returns the exit code:
//
//	pause              wait for SIGTERM, then exit 0
//	stubborn           ignore SIGTERM
//	exit CODE [AFTER]  exit with CODE after a duration
//	cat FILE           print a file
//	env                print the environment
//	serve ADDRESS FILE answer 200 while FILE exists and 503 while it does not
//	get URL            print the status code of a GET; exit 0 if it is 200
//	test FILE          exit 0 if FILE exists, else 1
func run(args []string) int {
	if len(args) == 0 {
		args = []string{"pause"}
	}
	switch args[0] {
	case "pause":
		return pause()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ignoring SIGTERM")
		for { // not select{}: the Go runtime would call that a deadlock
			time.Sleep(time.Hour)
		}
	case "exit":
		return exit(args[1:])
	case "cat":
		return cat(args[1:])
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		return 0
	case "serve":
		return serve(args[1:])
	case "get":
		return get(args[1:])
	case "test":
		if len(args) == 2 && exists(args[1]) {
			return 0
		}
		return 1
	}
	fmt.Fprintf(os.Stderr, "no behaviour %q\n", args[0])
	return 2
}

func pause() int {
	fmt.Println("pausing")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	return 0
}

func exit(args []string) int {
	if len(args) > 1 {
		after, err := time.ParseDuration(args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		time.Sleep(after)
	}
	if len(args) == 0 {
		return 0
	}
	code, err := strconv.Atoi(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return code
}

func cat(args []string) int {
	for _, file := range args {
		content, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_, _ = os.Stdout.Write(content)
	}
	return 0
}

func serve(args []string) int {
	if len(args) != 2 {
		return 2
	}
	go func() { // end at once on SIGTERM, with code 0
		os.Exit(pause())
	}()
	server := &http.Server{Addr: args[0], ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			if !exists(args[1]) {
				http.Error(w, "not now", http.StatusServiceUnavailable)
			}
		})}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	return 1
}

func get(args []string) int {
	if len(args) != 1 {
		return 2
	}
	response, err := (&http.Client{Timeout: 5 * time.Second}).Get(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = response.Body.Close()
	fmt.Println(response.StatusCode)
	if response.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
