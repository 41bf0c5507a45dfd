package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcdroll/etcdroll/test/local/agent"
	"github.com/etcdroll/etcdroll/test/local/binaries"
	"github.com/etcdroll/etcdroll/test/local/cluster"
)

// defaultDir is $ETCDROLL_LOCAL_DIR, else .local next to this module's sources.
func defaultDir() (string, error) {
	if dir := os.Getenv("ETCDROLL_LOCAL_DIR"); dir != "" {
		return dir, nil
	}
	source, err := binaries.SourceDir()
	if err != nil {
		return "", fmt.Errorf("no --dir and no ETCDROLL_LOCAL_DIR: %w", err)
	}
	return filepath.Join(filepath.Dir(source), ".local"), nil
}

func dirFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("dir", "", "the cluster's directory (default $ETCDROLL_LOCAL_DIR, else test/local/.local)")
}

func resolveDir(flag string) (cluster.Dir, error) {
	if flag == "" {
		var err error
		if flag, err = defaultDir(); err != nil {
			return "", err
		}
	}
	abs, err := filepath.Abs(flag)
	return cluster.Dir(abs), err
}

func buildCommand() *cobra.Command {
	var show string
	var knative, missing bool
	cmd := &cobra.Command{
		Use: "build", Short: "Build missing programs into the cache", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := binaries.NewBuilder(os.Stderr)
			if err != nil {
				return err
			}
			programs := b.Catalog
			if knative {
				programs = slices.Concat(programs, b.Extra)
			}
			if missing {
				return tellMissing(b, programs)
			}
			if show == "" {
				_, err = b.Each(cmd.Context(), programs)
				return err
			}
			path, err := b.Build(cmd.Context(), show)
			if err == nil {
				fmt.Println(path)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&show, "print", "", "build only this one and print its path")
	cmd.Flags().BoolVar(&knative, "knative", false, "also Knative's programs")
	cmd.Flags().BoolVar(&missing, "missing", false, "build nothing; name what is not in the cache, and fail if there is any")
	return cmd
}

// tellMissing is cheap: it looks for files and compiles nothing.
func tellMissing(b *binaries.Builder, programs []binaries.Binary) error {
	names, err := b.Missing(programs)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%d of %d programs are not in the cache: %s", len(names), len(programs), strings.Join(names, ", "))
	}
	fmt.Printf("all %d programs are in the cache\n", len(programs))
	return nil
}

func upCommand() *cobra.Command {
	o := cluster.Options{Progress: os.Stderr}
	var foreground bool
	cmd := &cobra.Command{Use: "up", Short: "Start a fresh cluster and print how to reach it", Args: cobra.NoArgs}
	dir := dirFlag(cmd)
	flags := cmd.Flags()
	flags.IntVar(&o.Nodes, "nodes", 3, "number of nodes; the first half, rounded up, is in pool blue, the rest in pool green")
	flags.BoolVar(&foreground, "foreground", false, "stay until interrupted and then end the cluster; it also ends when this process or its parent is killed")
	flags.StringVar(&o.FeatureGates, "feature-gates", "", "feature gates of the three control plane programs")
	flags.StringVar(&o.AuditLog, "audit-log", "", "the API server's audit log (default audit.log in the cluster's directory)")
	flags.StringArrayVar(&o.Images, "image", nil, "IMAGE=[NAME:]PATH[,[NAME:]PATH...]: programs of an image; repeatable")
	flags.StringVar(&o.Cgroup, "cgroup", "", "existing cgroup (version 2) directory below which every container gets one of its own, NAMESPACE_POD_CONTAINER")
	flags.DurationVar(&o.BackoffBase, "backoff-base", 10*time.Second, "first pause before a crashed container runs again; it doubles up to 30 times this")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if o.Dir, err = resolveDir(*dir); err != nil {
			return err
		}
		if o.Nodes < 1 || o.Nodes > 26 {
			return fmt.Errorf("--nodes %d is not between 1 and 26", o.Nodes)
		}
		o.Tied = foreground
		parent := os.Getppid()
		if err := fillUp(cmd.Context(), &o); err != nil {
			return err
		}
		if err := cluster.Up(cmd.Context(), o); err != nil {
			return err
		}
		fmt.Printf("export KUBECONFIG=%s\n", o.Dir.Kubeconfig(""))
		if foreground {
			return stay(cmd.Context(), o.Dir, parent)
		}
		return nil
	}
	return cmd
}

// fillUp completes the options with what is found on this machine.
func fillUp(ctx context.Context, o *cluster.Options) error {
	var err error
	if o.Self, err = os.Executable(); err != nil {
		return err
	}
	if o.AuditLog != "" {
		if o.AuditLog, err = filepath.Abs(o.AuditLog); err != nil {
			return err
		}
	}
	b, err := binaries.NewBuilder(os.Stderr)
	if err != nil {
		return err
	}
	o.Binaries, err = b.All(ctx)
	return err
}

// stay waits for an interrupt, for the death of the process that started this
// one, or for another process to end the cluster.
func stay(ctx context.Context, dir cluster.Dir, parent int) error {
	for {
		select {
		case <-ctx.Done():
			return cluster.Down(dir)
		case <-time.After(500 * time.Millisecond):
		}
		if os.Getppid() != parent {
			return cluster.Down(dir)
		}
		if running, err := cluster.Running(dir); err != nil || !running {
			return err
		}
	}
}

func downCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "down", Short: "End every process of the cluster; logs stay", Args: cobra.NoArgs}
	dir := dirFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		d, err := resolveDir(*dir)
		if err != nil {
			return err
		}
		return cluster.Down(d)
	}
	return cmd
}

const componentNames = "apiserver|controller-manager|scheduler|etcd|agent"

func stopComponentCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stop-component " + componentNames, Short: "Stop one program of the cluster", Args: cobra.ExactArgs(1)}
	dir := dirFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		d, err := resolveDir(*dir)
		if err != nil {
			return err
		}
		return cluster.StopComponent(d, args[0])
	}
	return cmd
}

func startComponentCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "start-component " + componentNames, Short: "Start a stopped program again, on the same port", Args: cobra.ExactArgs(1)}
	dir := dirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := resolveDir(*dir)
		if err != nil {
			return err
		}
		return cluster.StartComponent(cmd.Context(), d, args[0])
	}
	return cmd
}

func signalComponentCommand() *cobra.Command {
	var signal string
	cmd := &cobra.Command{Use: "signal-component " + componentNames, Short: "Send a signal to one program of the cluster", Args: cobra.ExactArgs(1)}
	dir := dirFlag(cmd)
	cmd.Flags().StringVar(&signal, "signal", "STOP", "signal name, such as STOP, CONT or KILL")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		d, err := resolveDir(*dir)
		if err != nil {
			return err
		}
		sig, err := signalNamed(signal)
		if err != nil {
			return err
		}
		return cluster.SignalComponent(d, args[0], sig)
	}
	return cmd
}

func agentCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "agent", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			var config agent.Config
			if err := json.Unmarshal(content, &config); err != nil {
				return fmt.Errorf("reading %s: %w", file, err)
			}
			go cluster.KeepAlive(cmd.Context(), cluster.Dir(filepath.Dir(file)), os.Stderr)
			return agent.Run(cmd.Context(), config)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file written by up")
	return cmd
}
