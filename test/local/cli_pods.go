package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/etcdroll/etcdroll/test/local/cluster"
	"github.com/etcdroll/etcdroll/test/local/podip"
	"github.com/etcdroll/etcdroll/test/local/podlog"
)

func logsCommand() *cobra.Command {
	var container string
	var opts podlog.Options
	var previous bool
	cmd := &cobra.Command{Use: "logs NAMESPACE/POD", Short: "Print a container's log, also after its pod is gone", Args: cobra.ExactArgs(1)}
	dir := dirFlag(cmd)
	cmd.Flags().StringVarP(&container, "container", "c", "", "container (default: the pod's only one)")
	cmd.Flags().BoolVar(&previous, "previous", false, "the run before the last")
	cmd.Flags().BoolVarP(&opts.Follow, "follow", "f", false, "keep printing")
	cmd.Flags().IntVar(&opts.Tail, "tail", 0, "only the last lines")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := resolveDir(*dir)
		if err != nil {
			return err
		}
		namespace, name, ok := strings.Cut(args[0], "/")
		if !ok {
			return fmt.Errorf("%q is not NAMESPACE/POD", args[0])
		}
		path := podlog.Find(d.PodLogs(), namespace, name, "", container, previous)
		if path == "" {
			return fmt.Errorf("no log of %s in %s", args[0], d.PodLogs())
		}
		log, err := podlog.Open(cmd.Context(), path, opts)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		_, err = io.Copy(os.Stdout, log)
		return err
	}
	return cmd
}

func ipCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ip NAMESPACE POD", Short: "Print a pod's address, whether it exists or not", Args: cobra.ExactArgs(2),
		Run: func(_ *cobra.Command, args []string) { fmt.Println(podip.For(args[0], args[1])) },
	}
}

func killCommand() *cobra.Command {
	var container, signal string
	cmd := &cobra.Command{Use: "kill NAMESPACE/POD", Short: "Send a signal to a container's process", Args: cobra.ExactArgs(1)}
	dir := dirFlag(cmd)
	cmd.Flags().StringVarP(&container, "container", "c", "", "container (default: the pod's only one)")
	cmd.Flags().StringVar(&signal, "signal", "KILL", "signal name, such as KILL, TERM, STOP or CONT")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		d, err := resolveDir(*dir)
		if err != nil {
			return err
		}
		sig, err := signalNamed(signal)
		if err != nil {
			return err
		}
		namespace, name, ok := strings.Cut(args[0], "/")
		if !ok {
			return fmt.Errorf("%q is not NAMESPACE/POD", args[0])
		}
		return cluster.SignalContainer(d, namespace, name, container, sig)
	}
	return cmd
}

func signalNamed(name string) (unix.Signal, error) {
	sig := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
	if sig == 0 {
		return 0, fmt.Errorf("no signal %q", name)
	}
	return sig, nil
}
