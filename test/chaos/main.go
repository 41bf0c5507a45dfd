// Command chaos rolls real etcd sets on a local control plane while everything
// around them breaks, and judges what happened. See docs/chaos.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/ledger"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
	"github.com/etcdroll/etcdroll/test/chaos/sabotage"
)

// options are what the command line says.
type options struct {
	rounds   int
	seed     int64
	only     numbers
	from     int
	enough   time.Duration
	parallel int
	csv      string
	doc      string
	logs     string
	keep     bool
	plan     bool
	without  string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 20, "how many rounds to make")
	flag.Int64Var(&o.seed, "seed", 1, "where all plans are drawn from")
	flag.Var(&o.only, "round", "make this one alone, or these, as in 7,12")
	flag.IntVar(&o.parallel, "parallel", plan.Lanes, fmt.Sprintf("how many sets roll at once, 1 to %d", plan.Lanes))
	flag.StringVar(&o.csv, "csv", "", "file that a row is appended to for each round")
	flag.StringVar(&o.doc, "doc", "", "document whose figures are replaced by those of all rows of -csv; nothing is rolled")
	flag.StringVar(&o.logs, "logs", "", "directory for what failed rounds leave behind (default: a new one in the system's)")
	flag.IntVar(&o.from, "from", 0, "number of the first round")
	flag.DurationVar(&o.enough, "for", 0, "begin no more rounds after this time; 0 makes all of them")
	flag.BoolVar(&o.keep, "keep", false, "keep logs and timelines also when every invariant held")
	flag.BoolVar(&o.plan, "plan", false, "print the plans; nothing is rolled")
	flag.StringVar(&o.without, "without", "", "take this rule out of the function, or "+every+" of them one after the other, and make rounds until it is found out: "+strings.Join(sabotage.Names(), ", "))
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := o.do(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func (o options) do(ctx context.Context) (ok bool, err error) {
	switch {
	case o.parallel < 1 || o.parallel > plan.Lanes:
		return false, fmt.Errorf("-parallel %d is not between 1 and %d", o.parallel, plan.Lanes)
	case o.without != "":
		return o.doWithout(ctx)
	case o.plan:
		for _, n := range o.chosen(whatever) {
			fmt.Println(plan.Make(o.seed, n))
		}
		return true, nil
	case o.doc != "":
		rows, err := ledger.Read(o.csv)
		if err != nil {
			return false, err
		}
		return true, ledger.Document(o.doc, rows)
	}
	return run(ctx, o)
}

// doWithout finds out whether chaos bites. Its rounds show nothing of the
// product, and never count among those that do.
func (o options) doWithout(ctx context.Context) (ok bool, err error) {
	list, err := o.sabotages()
	switch {
	case err != nil:
		return false, err
	case o.csv != "" || o.doc != "":
		return false, errors.New("-without has no figures: leave out -csv and -doc")
	case o.plan:
		for _, s := range list {
			fmt.Printf("without %s:\n", s.Name)
			for _, n := range o.chosen(s.Meets) {
				fmt.Println(plan.Make(o.seed, n))
			}
		}
		return true, nil
	}
	return bites(ctx, o, list)
}

// numbers are those of rounds, as given to -round.
type numbers []int

func (n *numbers) String() string { return fmt.Sprint([]int(*n)) }

// Set reads "7,12".
func (n *numbers) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(word)
		if err != nil || number < 0 {
			return fmt.Errorf("%q is no number of a round", word)
		}
		*n = append(*n, number)
	}
	return nil
}

// chosen are the rounds to make: those of -round, or else the first that meet what is asked of them.
func (o options) chosen(meets func(plan.Round) bool) (list []int) {
	if len(o.only) > 0 {
		return o.only
	}
	for n := o.from; len(list) < o.rounds; n++ {
		if meets(plan.Make(o.seed, n)) {
			list = append(list, n)
		}
	}
	return list
}

// whatever is asked of rounds when nothing is.
func whatever(plan.Round) bool { return true }
