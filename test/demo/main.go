// Command demo rolls a real etcd on a real control plane: once with etcdroll,
// once with the StatefulSet controller's own rolling update, and prints both
// side by side. It exits 0 only if etcdroll kept its promises.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options of the demo.
type options struct {
	from, to string
	cooldown time.Duration
	leader   int
	rate     int
	keep     bool
	plain    bool
	pictures string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&o.from, "from", "3.6.16", "etcd version to start on: 3.5.35, 3.6.16 or 3.7.3")
	flags.StringVar(&o.to, "to", "3.7.3", "etcd version to roll to")
	flags.DurationVar(&o.cooldown, "cooldown", 5*time.Second, "how long a new pod has to be Ready before the next one goes")
	flags.IntVar(&o.leader, "leader", 2, "index of the member that leads at the start; 2 goes first, the worst case")
	flags.IntVar(&o.rate, "rate", 200, "puts per second meanwhile")
	flags.BoolVar(&o.keep, "keep", false, "leave everything running at the end, until interrupted")
	flags.BoolVar(&o.plain, "plain", false, "print lines instead of redrawing the screen")
	flags.StringVar(&o.pictures, "pictures", "", "write pictures of both rolls and of the live view to this directory")
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err == nil && (o.leader < 0 || o.leader > 2 || o.rate < 1 || o.rate > 1000 || o.cooldown < time.Second) {
		err = errors.New("--leader is 0, 1 or 2, --rate 1 to 1000, --cooldown at least 1s")
	}
	return o, err
}

func main() {
	o, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err = play(ctx, o)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case interrupted && !o.keep:
		fmt.Fprintln(os.Stderr, "demo: interrupted; everything was ended")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// play runs both acts and says whether etcdroll kept its promises.
func play(ctx context.Context, o options) error {
	scene, err := newScene(ctx, o)
	if err != nil {
		return err
	}
	defer scene.end()
	guided, err := scene.guided(ctx)
	if err != nil {
		return fmt.Errorf("the roll with etcdroll: %w", err)
	}
	guided.print(scene.screen)
	native, err := scene.native(ctx)
	if err != nil {
		return fmt.Errorf("the native roll: %w", err)
	}
	compare(scene.screen, guided, native)
	if o.pictures != "" {
		if err := scene.paint(guided, native); err != nil {
			return err
		}
	}
	broken := guided.broken()
	for _, promise := range broken {
		scene.screen.line("BROKEN: %s", promise)
	}
	if o.keep && ctx.Err() == nil {
		scene.linger(ctx)
	}
	if len(broken) > 0 {
		return fmt.Errorf("etcdroll broke %d promises", len(broken))
	}
	return nil
}
