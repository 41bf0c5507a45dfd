package knative

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/product"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
	"github.com/etcdroll/etcdroll/test/knative/broker"
	"github.com/etcdroll/etcdroll/test/knative/eventing"
	"github.com/etcdroll/etcdroll/test/knative/mesh"
)

const (
	formsWithin = 90 * time.Second
	rollsWithin = 3 * time.Minute
	patience    = 25 // seconds until a pod that does not start halts the roll
)

// world is one namespace with config/broker and one set, on a cluster with
// Knative Eventing. All tests share it, one after the other.
type world struct {
	ctx       context.Context
	namespace string
	mesh      *mesh.Mesh
	eventing  *eventing.Eventing
	broker    *broker.Topology
	function  *product.Part
	trigger   *product.Part
	set       *etcdset.Set
	observer  *observer.Observer
	writer    *writer.Writer
	mark      observer.Mark
	since     time.Time
}

var (
	made    *world
	madeErr error
)

// aWorld gives the shared world, with the set settled and no hop spoilt.
func aWorld(t *testing.T) *world {
	t.Helper()
	if made == nil && madeErr == nil {
		made = &world{ctx: context.Background()}
		madeErr = made.build()
	}
	if madeErr != nil {
		t.Fatal(madeErr)
	}
	t.Cleanup(func() {
		made.mesh.Spoil(nil)
		if t.Failed() {
			t.Logf("logs of trigger and function: %s %s", made.trigger.Log(), made.function.Log())
		}
	})
	must(t, made.observer.Until(made.ctx, rollsWithin, "an earlier roll has not ended", observer.View.Settled))
	return made
}

func (w *world) build() error {
	var err error
	if w.mesh, err = mesh.Start(); err != nil {
		return err
	}
	room := filepath.Join(shared.Dir, "bin", "room")
	if err := eventing.BuildRoom(w.ctx, room); err != nil {
		return err
	}
	if w.eventing, err = eventing.Start(w.ctx, shared, w.mesh, room); err != nil {
		return err
	}
	if w.namespace, _, err = shared.Namespace(w.ctx, "kn"); err != nil {
		return err
	}
	if err := w.installBroker(); err != nil {
		return err
	}
	return w.makeSet()
}

func (w *world) close() {
	if w.writer != nil {
		if err := w.writer.Stop(w.ctx); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL: writes were lost:", err)
			os.Exit(1)
		}
	}
	if w.observer != nil {
		w.observer.Stop()
	}
	for _, p := range []*product.Part{w.trigger, w.function} {
		if p != nil {
			p.Stop()
		}
	}
	if w.eventing != nil {
		w.eventing.Stop()
	}
	if w.mesh != nil {
		w.mesh.Stop()
	}
}

// installBroker applies config/broker and starts both parts.
func (w *world) installBroker() error {
	programs, err := product.Build(w.ctx, filepath.Join(shared.Dir, "bin"), "trigger", "roll-fn")
	if err != nil {
		return err
	}
	if w.broker, err = broker.Install(w.ctx, shared, w.mesh, programs, w.namespace); err != nil {
		return err
	}
	if w.function, err = w.broker.Place.Function(); err != nil {
		return err
	}
	if w.trigger, err = w.broker.Place.Trigger(w.broker.Sink, "--leader-elect=false"); err != nil {
		return err
	}
	w.broker.Route(w.function, w.trigger)
	if err = w.broker.Ready(w.ctx); err != nil {
		state, _ := shared.Kubectl(w.ctx, nil, "-n", w.namespace, "get", "broker,trigger,subscription,inmemorychannel", "-o", "yaml")
		_ = os.WriteFile(filepath.Join(shared.Dir, "logs", "broker-state.yaml"), state, 0o644)
		return fmt.Errorf("%w\n%s", err, w.eventing.Logs())
	}
	return nil
}

func (w *world) functionHost() string { return w.broker.FunctionHost() }

func (w *world) deadLetterHost() string { return w.broker.DeadLetterHost() }

func (w *world) makeSet() error {
	o := etcdset.Options{Namespace: w.namespace, Config: etcdset.Quick()}
	o.Config["readyTimeoutSeconds"] = patience
	var err error
	if w.set, err = etcdset.Create(w.ctx, shared.Client, o); err != nil {
		return err
	}
	if w.observer, err = observer.Start(w.ctx, shared.Client, w.namespace, w.set.Name); err != nil {
		return err
	}
	if err := w.observer.Until(w.ctx, formsWithin, "the set has not formed", observer.View.AllUp); err != nil {
		return err
	}
	endpoints, err := w.set.Endpoints(w.ctx)
	if err != nil {
		return err
	}
	w.writer, err = writer.Start(slices.Collect(maps.Values(endpoints)), 50)
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
