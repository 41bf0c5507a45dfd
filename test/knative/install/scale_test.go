package install

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/config/overlay"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
	"github.com/etcdroll/etcdroll/test/e2e/writer"
)

const (
	formsWithin = 90 * time.Second
	rollsWithin = 3 * time.Minute
	// Knative waits a stable window of 60 s without a request, and 30 s at most
	// until the activator stands before the revision.
	idleWithin = 150 * time.Second
)

// config/knative as it is: the trigger as a pod, the function as a Knative Service
// that starts with one pod, goes to zero, is woken by a request, answers it, and
// goes back to zero.
func TestTheFunctionRunsOnlyWhileItIsAsked(t *testing.T) {
	w := aFunction(t)
	w.line.untilZero(t, idleWithin)
	cold := coldStep(t, w)
	if cold > 10*time.Second {
		t.Errorf("a request to a function at zero took %s", cold)
	}
}

// coldStep posts an event about a settled set to the function at zero, and waits
// until the function is at zero again.
func coldStep(t *testing.T, w *scaled) time.Duration {
	t.Helper()
	w.line.forget()
	began := time.Now()
	status := post(t, w.namespace)
	took := time.Since(began)
	if status != http.StatusOK {
		t.Errorf("the function answers %d to an event about a settled set, want 200", status)
	}
	t.Logf("cold: answered after %s; %s", took.Round(time.Millisecond), w.line.since(began))
	warm := time.Now()
	post(t, w.namespace)
	answered := time.Now()
	t.Logf("warm: answered after %s", answered.Sub(warm).Round(time.Millisecond))
	w.line.untilZero(t, idleWithin)
	t.Logf("back at zero %s after the last answer", time.Since(answered).Round(100*time.Millisecond))
	return took
}

// The template changes while the function is at zero.
func TestARollThatBeginsAtZero(t *testing.T) {
	w := aFunction(t)
	must(t, w.set.LeadWith(t.Context(), 2))
	w.line.untilZero(t, idleWithin)
	w.line.forget()
	mark, began := w.observer.Mark(), time.Now()
	must(t, w.set.Apply(t.Context(), etcdset.Template(etcdset.ToVersion("3.7.3"))))
	must(t, w.observer.Until(t.Context(), formsWithin, "the change is not seen", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Update != v.Set.Annotations[events.AnnotationConvergedRevision]
	}))
	must(t, w.observer.Until(t.Context(), rollsWithin, "the roll has not ended", observer.View.Settled))
	r, err := w.observer.Report(mark)
	must(t, err)
	tally := w.writer.Tally(r.From)
	t.Logf("rolled from zero in %s: %d steps, %d moves, %d unplanned, longest write gap %s, %d failed writes; %s", time.Since(began).Round(100*time.Millisecond),
		r.Steps, r.Planned, r.Unplanned, tally.Longest.Took.Round(time.Millisecond), tally.Failed, w.line.since(began))
	if r.Unplanned != 0 || len(r.Led) != 0 || r.MembersDown > 1 || r.Planned != 2 {
		t.Errorf("%d unplanned elections, led %v, %d members down, %d moves", r.Unplanned, r.Led, r.MembersDown, r.Planned)
	}
	if want := []int{3, 2, 3, 1, 3, 0, 3}; !slices.Equal(r.Partitions, want) {
		t.Errorf("partition went %v, want %v", r.Partitions, want)
	}
}

// post sends an event to the function by its name in the cluster.
func post(t *testing.T, namespace string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://etcdroll-roll-fn."+namespace+".svc.cluster.local/", strings.NewReader("{}"))
	must(t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Ce-Specversion": "1.0", "Ce-Type": events.TypeDiverged,
		"Ce-Id": "cold", "Ce-Source": "/test", "Ce-Subject": namespace + "/etcd"} {
		r.Header.Set(name, value)
	}
	proxy, err := url.Parse(network.URL)
	must(t, err)
	answer, err := (&http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}, Timeout: time.Minute}).Do(r)
	must(t, err)
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	must(t, answer.Body.Close())
	if len(body) > 0 {
		t.Logf("%s: %s", answer.Status, body)
	}
	return answer.StatusCode
}

// scaled is one namespace with config/knative and one set. Tests share it.
type scaled struct {
	namespace string
	set       *etcdset.Set
	observer  *observer.Observer
	writer    *writer.Writer
	line      *timeline
}

var (
	scaledOnce sync.Once
	scaledOne  *scaled
)

// aFunction gives the shared namespace, with the function installed and the set
// adopted.
func aFunction(t *testing.T) *scaled {
	t.Helper()
	withServing(t)
	scaledOnce.Do(func() {
		ctx := context.WithoutCancel(t.Context())
		w := &scaled{}
		var err error
		w.namespace, _, err = shared.Namespace(ctx, "kn")
		must(t, err)
		w.form(ctx, t)
		must(t, overlay.Apply(ctx, shared, overlay.Overlay{Namespace: w.namespace, Resources: []string{"knative"}}))
		w.line = watchFunction(t, w.namespace, make(chan struct{}))
		serviceIsReady(t, w.namespace)
		scaledOne = w
	})
	if scaledOne == nil {
		t.Fatal("the function was not installed")
	}
	must(t, scaledOne.observer.Until(t.Context(), formsWithin, "the set is not settled", observer.View.Settled))
	return scaledOne
}

// form makes a set of three members that are up, and a writer.
func (w *scaled) form(ctx context.Context, t *testing.T) {
	t.Helper()
	var err error
	w.set, err = etcdset.Create(ctx, shared.Client, etcdset.Options{Namespace: w.namespace, Config: etcdset.Quick()})
	must(t, err)
	w.observer, err = observer.Start(ctx, shared.Client, w.namespace, w.set.Name)
	must(t, err)
	must(t, w.observer.Until(ctx, formsWithin, "the set has not formed", observer.View.AllUp))
	endpoints, err := w.set.Endpoints(ctx)
	must(t, err)
	w.writer, err = writer.Start(slices.Collect(maps.Values(endpoints)), 50)
	must(t, err)
}

// close ends the writer, which says whether a write was lost.
func (w *scaled) close() error {
	w.observer.Stop()
	return w.writer.Stop(context.Background())
}

func serviceIsReady(t *testing.T, namespace string) {
	t.Helper()
	began := time.Now()
	if _, err := shared.Kubectl(t.Context(), nil, "-n", namespace, "wait", "--for=condition=Ready", "--timeout=90s", "services.serving.knative.dev/etcdroll-roll-fn"); err != nil {
		state, _ := shared.Kubectl(t.Context(), nil, "-n", namespace, "get", "ksvc,configuration,revision,route,podautoscaler,serverlessservice,kingress,deployment,pod", "-o", "yaml")
		t.Fatalf("%v\n%s", err, state)
	}
	t.Logf("the Knative Service is Ready after %s", time.Since(began).Round(100*time.Millisecond))
}
