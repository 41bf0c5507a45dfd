package status

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/follow"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
	"github.com/etcdroll/etcdroll/pkg/kubectl/screen"
)

// redrawEvery lets times pass on the screen.
const redrawEvery = time.Second

// podsEvery bounds how old pods may be that are not well: a container that
// waits changes nothing on the set.
const podsEvery = 5 * time.Second

func (o options) watchOne(ctx context.Context, c *access.Cluster) error {
	set, err := c.Set(ctx, o.name) // tells at once what the watch would retry
	if err != nil {
		return err
	}
	v := &view{cluster: c, set: set}
	if err := v.readPods(ctx); err != nil {
		return err
	}
	sets, asks, show := follow.One(ctx, c.Client, c.Namespace, o.name), newAsker(ctx, c, o.name), o.newShow()
	asks.again()
	tick, pods := time.NewTicker(redrawEvery), time.NewTicker(podsEvery)
	defer tick.Stop()
	defer pods.Stop()
	for asked := v.identity(); ; {
		show.one(v.look())
		read := false
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-pods.C:
			read = slices.ContainsFunc(v.look().Members, func(m look.Member) bool { return m.Ready != "yes" })
		case a := <-asks.answers:
			v.take(a)
		case <-sets.Changed():
			if err := v.follow(sets); err != nil {
				return err
			}
			read = true
		}
		v.trouble = sets.Trouble()
		if read {
			if err := v.readPods(ctx); err != nil && v.trouble == nil {
				v.trouble = err
			}
		}
		if now := v.identity(); now != asked {
			asked = now
			asks.again()
		}
	}
}

// follow takes over the set as the watch shows it.
func (v *view) follow(sets *follow.Sets) error {
	switch all, seen := sets.All(); {
	case seen && len(all) == 0:
		return fmt.Errorf("statefulset %s/%s was deleted", v.set.Namespace, v.set.Name)
	case len(all) == 1:
		v.set = all[0]
	}
	return nil
}

func (o options) watchAll(ctx context.Context, c *access.Cluster) error {
	sets, show := follow.Managed(ctx, c.Client, o.namespace(c)), o.newShow()
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-sets.Changed():
		}
		all, seen := sets.All()
		if !seen {
			if err := sets.Trouble(); err != nil {
				return access.Remedied("watch statefulsets in "+where(o.namespace(c)), err)
			}
			continue
		}
		var pictures []look.Set
		for _, set := range all {
			pictures = append(pictures, look.At(look.Facts{Object: set, Observed: fn.Read(set, nil, c.Clock())}))
		}
		show.all(pictures, sets.Trouble())
	}
}

// show draws on a terminal and adds lines elsewhere.
type show struct {
	options
	block screen.Block
	said  map[string]string // what was last said of what
}

func (o options) newShow() *show {
	return &show{options: o, block: screen.Block{Out: o.Streams.Out}, said: map[string]string{}}
}

func (s *show) one(set look.Set) {
	style := s.Style()
	if style.Terminal && !s.out.Structured() {
		s.draw(style, set.Lines(style, s.out == access.Wide))
		return
	}
	s.changes(set)
}

func (s *show) all(sets []look.Set, trouble error) {
	style := s.Style()
	if style.Terminal && !s.out.Structured() {
		lines := look.Fleet(sets, style, s.options.all, s.out == access.Wide)
		if len(sets) == 0 {
			lines = []string{"no managed sets"}
		}
		if trouble != nil {
			lines = append(lines, screen.Cut("this may be old, the watch is interrupted: "+access.OneLine(trouble), style.Width))
		}
		s.draw(style, lines)
		return
	}
	for _, set := range sets {
		s.changes(set)
	}
}

// draw keeps within the terminal: what scrolls out cannot be drawn over.
func (s *show) draw(style screen.Style, lines []string) {
	if style.Height > 1 && len(lines) >= style.Height {
		lines = append(lines[:style.Height-2:style.Height-2], "...")
	}
	for i, l := range lines {
		lines[i] = style.Fit(l)
	}
	s.block.Draw(lines)
}

// changes prints what is new. Times that pass are no change.
func (s *show) changes(set look.Set) {
	name := set.Namespace + "/" + set.Name
	news := []string{}
	if s.new(name, fmt.Sprint(set.Standing, set.Reason, set.Updated, set.Lock, set.Partition, set.HaltID, set.Converged)) {
		news = append(news, set.Line())
	}
	for _, m := range set.Members {
		if text := fmt.Sprintf("revision %s, ready %s, %s", m.Revision, m.Ready, m.Role); s.new(name+" "+m.Pod, text) {
			news = append(news, name+" "+m.Pod+": "+text)
		}
	}
	if s.out.Structured() {
		if len(news) > 0 {
			_ = s.Encode(s.out, set)
		}
		return
	}
	for _, line := range news {
		s.Say("%s %s", time.Now().UTC().Format(time.RFC3339), line)
	}
}

func (s *show) new(what, text string) bool {
	if s.said[what] == text {
		return false
	}
	s.said[what] = text
	return true
}
