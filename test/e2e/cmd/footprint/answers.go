package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/child"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/scale/cost"
)

const (
	starts      = 20
	answers     = 200
	listensTime = 10 * time.Second
)

// question is an event about the set, which has converged: there is nothing to
// do about it.
func (b *bench) question(ctx context.Context) (event.Event, error) {
	set, err := b.cluster.Client.AppsV1().StatefulSets(b.place.Namespace).Get(ctx, b.first.Name, metav1.GetOptions{})
	if err != nil {
		return event.Event{}, err
	}
	return events.NewDiverged(events.Target{Namespace: set.Namespace, Name: set.Name},
		events.Diverged{UID: string(set.UID), Generation: set.Generation, TargetRevision: set.Status.UpdateRevision}, time.Now()), nil
}

// ask sends the event; an answer other than "nothing to do" is an error.
func ask(ctx context.Context, sender *events.Sender, e event.Event) error {
	answer, err := sender.Send(ctx, e, true)
	switch {
	case err != nil:
		return err
	case answer.Status != http.StatusOK || answer.Reply != nil:
		return fmt.Errorf("an event about a converged set is answered %d %s", answer.Status, answer.Text)
	}
	return nil
}

// warmAnswers asks the function that has rolled the set, one event after the
// other over one connection, and gives its peak of memory as well.
func (b *bench) warmAnswers(ctx context.Context) (list []figure, peak int64, err error) {
	e, err := b.question(ctx)
	if err != nil {
		return nil, 0, err
	}
	sender, err := events.NewSender(events.SinkConfig{URL: b.function.URL})
	if err != nil {
		return nil, 0, err
	}
	var took []time.Duration
	for range answers {
		began := time.Now()
		if err := ask(ctx, sender, e); err != nil {
			return nil, 0, err
		}
		took = append(took, time.Since(began))
	}
	memory, err := cost.MemoryOf(b.function.PID())
	return []figure{
		plain(fmt.Sprintf("warm answer about a converged set, p50 of %d", answers), millis(percentile(took, 50))),
		plain("warm answer about a converged set, p99", millis(percentile(took, 99))),
	}, memory.Peak, err
}

// coldStarts starts the function many times, with its own rights, and asks each
// the same once.
func (b *bench) coldStarts(ctx context.Context) ([]figure, error) {
	kubeconfig, err := b.cluster.Identity(ctx, b.place.Namespace, product.FunctionAccount)
	if err != nil {
		return nil, err
	}
	e, err := b.question(ctx)
	if err != nil {
		return nil, err
	}
	var listening, answered []time.Duration
	for range starts {
		l, a, err := coldStart(ctx, b.programs.Function, b.place.Namespace, kubeconfig, e)
		if err != nil {
			return nil, err
		}
		listening, answered = append(listening, l), append(answered, a)
	}
	return startFigures(listening, answered), nil
}

func startFigures(listening, answered []time.Duration) []figure {
	middle := within(fmt.Sprintf("exec to listening: median (and range) of %d starts", len(listening)), percentile(listening, 50), listenTarget)
	middle.measured = spread(listening)
	return []figure{
		middle,
		plain("exec to the first answer: median (and range)", spread(answered)),
	}
}

// coldStart takes the times from just before exec until the port accepts a
// connection, and until the answer has arrived.
func coldStart(ctx context.Context, program, namespace, kubeconfig string, e event.Event) (listening, answered time.Duration, err error) {
	address, err := freeAddress()
	if err != nil {
		return 0, 0, err
	}
	sender, err := events.NewSender(events.SinkConfig{URL: "http://" + address})
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	p, err := child.Start(child.Command{Name: "roll-fn", Path: program,
		Args: []string{"--listen=" + address, "--kubeconfig=" + kubeconfig, "--namespaces=" + namespace}})
	if err != nil {
		return 0, 0, err
	}
	defer p.Kill()
	for time.Since(began) < listensTime && p.Alive() {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			time.Sleep(200 * time.Microsecond)
			continue
		}
		listening = time.Since(began)
		_ = connection.Close()
		err = ask(ctx, sender, e)
		return listening, time.Since(began), err
	}
	return 0, 0, fmt.Errorf("roll-fn does not listen on %s", address)
}

// freeAddress is one that nobody listens on at the moment.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
