// Command chaos rolls real etcd sets on a local control plane while everything
// around them breaks, and judges what happened. See docs/chaos.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/etcdroll/etcdroll/test/chaos/ledger"
	"github.com/etcdroll/etcdroll/test/chaos/plan"
)

// options are what the command line says.
type options struct {
	rounds   int
	seed     int64
	round    int
	from     int
	enough   time.Duration
	parallel int
	csv      string
	doc      string
	logs     string
	keep     bool
	plan     bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 20, "how many rounds to make")
	flag.Int64Var(&o.seed, "seed", 1, "where all plans are drawn from")
	flag.IntVar(&o.round, "round", -1, "make this one alone")
	flag.IntVar(&o.parallel, "parallel", plan.Lanes, "how many sets roll at once, 1 to 4")
	flag.StringVar(&o.csv, "csv", "", "file that a row is appended to for each round")
	flag.StringVar(&o.doc, "doc", "", "document whose figures are replaced by those of all rows of -csv; nothing is rolled")
	flag.StringVar(&o.logs, "logs", "", "directory for what failed rounds leave behind (default: a new one in the system's)")
	flag.IntVar(&o.from, "from", 0, "number of the first round")
	flag.DurationVar(&o.enough, "for", 0, "begin no more rounds after this time; 0 makes all of them")
	flag.BoolVar(&o.keep, "keep", false, "keep logs and timelines also when every invariant held")
	flag.BoolVar(&o.plan, "plan", false, "print the plans; nothing is rolled")
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
	case o.plan:
		for _, n := range o.numbers() {
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

// numbers are the rounds to make.
func (o options) numbers() (list []int) {
	if o.round >= 0 {
		return []int{o.round}
	}
	for n := range o.rounds {
		list = append(list, o.from+n)
	}
	return list
}
