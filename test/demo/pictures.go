package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/etcdroll/etcdroll/pkg/kubectl"
	"github.com/etcdroll/etcdroll/test/plot"
)

// takeLiveView asks `kubectl etcdroll status` in the middle of the roll, when
// one member is on the new template and another is away.
func (s *scene) takeLiveView(ctx context.Context, a *actors) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(redrawEvery)
		defer tick.Stop()
		for s.live == nil {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			view, fresh := a.observer.View(), 0
			for _, pod := range view.Pods {
				if pod.Up() && pod.Revision == view.Set.Update {
					fresh++
				}
			}
			if !view.AllUp() && fresh == 1 {
				s.live = s.status(a)
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (s *scene) status(a *actors) []string {
	var out bytes.Buffer
	code := kubectl.Main([]string{"status", a.set.Name, "--namespace=" + a.set.Namespace, "--kubeconfig=" + s.cluster.Kubeconfig},
		"demo", genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	if code != 0 {
		s.screen.line("kubectl etcdroll status ended with %d: %s", code, out.String())
		return nil
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// paint writes the pictures of the documentation.
func (s *scene) paint(results ...result) error {
	var panels []plot.Panel
	for _, r := range results {
		panels = append(panels, r.panel())
	}
	if err := draw(filepath.Join(s.pictures, "write-latency.svg"), func(to io.Writer) error { return plot.Latency(to, panels) }); err != nil {
		return err
	}
	if s.live == nil {
		return fmt.Errorf("no live view was taken: the roll never had one member away and one on the new template")
	}
	return draw(filepath.Join(s.pictures, "status.svg"), func(to io.Writer) error {
		return plot.Terminal(to, "kubectl etcdroll status etcd", s.live)
	})
}

func draw(file string, with func(io.Writer) error) error {
	var out bytes.Buffer
	if err := with(&out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

func (r result) panel() plot.Panel {
	p := plot.Panel{
		Title: fmt.Sprintf("%s: %d elections nobody planned, longest write gap %s, %d of %d writes failed",
			r.name, r.Unplanned, gap(r.tally), r.tally.Failed, r.tally.Sent),
		From: r.From, To: r.To,
	}
	if longest := r.tally.Longest; longest.Took > 0 {
		p.Gap = plot.Span{From: longest.From, To: longest.From.Add(longest.Took), Label: gap(r.tally)}
	}
	for _, away := range r.Replaced {
		p.Away = append(p.Away, plot.Span{From: away.Began, To: away.Back, Label: fmt.Sprintf("etcd-%d", away.Index)})
	}
	for _, e := range r.Elections {
		p.Moves = append(p.Moves, plot.Moment{At: e.At, Bad: !e.Planned})
	}
	for _, sample := range r.samples {
		p.Samples = append(p.Samples, plot.Sample(sample))
	}
	return p
}
