package status

import (
	"context"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/fn/roll"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/guard/etcdprobe"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
)

// answer is what the members said, and of which pods they were.
type answer struct {
	sight   *fn.Sight // nil: nobody was asked
	reading etcdprobe.Reading
	problem string        // why nobody could be asked
	skew    time.Duration // how far the API server's clock is ahead of ours
}

// ask asks the members. With an earlier answer it asks the same members again
// and reads nothing from the API server.
func ask(ctx context.Context, c *access.Cluster, name string, before *fn.Sight) answer {
	if before != nil {
		endpoints, who := before.Asking()
		if endpoints == nil {
			return answer{sight: before, problem: problemOf(before)}
		}
		return answer{sight: before, reading: c.Members(before.Limits).Probe(ctx, endpoints, who)}
	}
	sight, _, err := c.Observer().Measure(ctx, events.Target{Namespace: c.Namespace, Name: name})
	if err != nil {
		return answer{problem: "members were not asked: " + access.OneLine(access.Remedied("observe", err))}
	}
	a := answer{sight: sight, problem: problemOf(sight)}
	a.reading = etcdprobe.Reading{Members: sight.Members, Commit: sight.Commit, AlarmsRead: sight.AlarmsRead, Alarms: sight.Alarms, Auth: sight.Auth}
	// The server tells its time in whole seconds.
	if skew := sight.Now.Sub(c.Clock()); skew.Abs() > 2*time.Second {
		a.skew = skew
	}
	return a
}

func problemOf(s *fn.Sight) string {
	if s.Config == nil {
		return ""
	}
	return "read with your own rights, " + string(s.Config.Reason) + ": " + s.Config.Message
}

// into adds the answer to an observation of objects that may be newer. What a
// member said that has another pod by now is not said of that one.
func (a answer) into(o *roll.Observed) {
	s := a.sight
	if s == nil || !s.Set.Managed {
		return
	}
	o.Limits, o.Budget, o.MayDelete, o.Config = s.Limits, s.Budget, s.MayDelete, s.Config
	if a.reading.Members == nil {
		return
	}
	o.Probed = true
	o.Members = make([]guard.Member, len(a.reading.Members))
	for i, m := range a.reading.Members {
		if o.Pod(i).UID == s.Pod(i).UID {
			o.Members[i] = m
		}
	}
	o.Commit, o.AlarmsRead, o.Alarms, o.Auth = a.reading.Commit, a.reading.AlarmsRead, a.reading.Alarms, a.reading.Auth
}

// askEvery is how often members are asked while somebody looks.
const askEvery = time.Second

// asker asks in the background, since members that are down take seconds not
// to answer.
type asker struct {
	cluster *access.Cluster
	name    string
	anew    chan struct{} // rings when there are other pods to ask
	answers chan answer
}

func newAsker(ctx context.Context, c *access.Cluster, name string) *asker {
	a := &asker{cluster: c, name: name, anew: make(chan struct{}, 1), answers: make(chan answer)}
	go a.run(ctx)
	return a
}

func (a *asker) again() {
	select {
	case a.anew <- struct{}{}:
	default:
	}
}

func (a *asker) run(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var last answer
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.anew:
			last = ask(ctx, a.cluster, a.name, nil)
		case <-tick.C:
			if last.sight == nil {
				continue
			}
			skew := last.skew
			last = ask(ctx, a.cluster, a.name, last.sight)
			last.skew = skew
		}
		select {
		case a.answers <- last:
		case <-ctx.Done():
			return
		}
	}
}
