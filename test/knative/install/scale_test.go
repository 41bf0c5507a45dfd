package install

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
// goes back to zero; then a roll that begins at zero.
func TestTheFunctionRunsOnlyWhileItIsAsked(t *testing.T) {
	withServing(t)
	namespace, remove, err := shared.Namespace(t.Context(), "kn")
	must(t, err)
	t.Cleanup(remove)
	set := aSet(t, namespace)
	must(t, overlay.Apply(t.Context(), shared, overlay.Overlay{Namespace: namespace, Resources: []string{"knative"}}))
	line := watchFunction(t, namespace)
	serviceIsReady(t, namespace)
	must(t, set.observer.Until(t.Context(), formsWithin, "the set is not adopted", observer.View.Settled))
	line.untilZero(t, idleWithin)
	cold := coldStep(t, namespace, line)
	if cold > 10*time.Second {
		t.Errorf("a request to a function at zero took %s", cold)
	}
	rollFromZero(t, set, line)
}

// coldStep posts an event about a settled set to the function at zero, and waits
// until the function is at zero again.
func coldStep(t *testing.T, namespace string, line *timeline) time.Duration {
	t.Helper()
	line.forget()
	began := time.Now()
	status := post(t, namespace)
	took := time.Since(began)
	if status != http.StatusOK {
		t.Errorf("the function answers %d to an event about a settled set, want 200", status)
	}
	t.Logf("cold: answered after %s; %s", took.Round(time.Millisecond), line.since(began))
	warm := time.Now()
	post(t, namespace)
	answered := time.Now()
	t.Logf("warm: answered after %s", answered.Sub(warm).Round(time.Millisecond))
	line.untilZero(t, idleWithin)
	t.Logf("back at zero %s after the last answer: %s", time.Since(answered).Round(100*time.Millisecond), line.since(answered))
	return took
}

// rollFromZero changes the template of a set while the function is at zero.
func rollFromZero(t *testing.T, set *aRolledSet, line *timeline) {
	t.Helper()
	must(t, set.LeadWith(t.Context(), 2))
	line.forget()
	mark, began := set.observer.Mark(), time.Now()
	must(t, set.Apply(t.Context(), etcdset.Template(etcdset.ToVersion("3.7.3"))))
	must(t, set.observer.Until(t.Context(), formsWithin, "the change is not seen", func(v observer.View) bool {
		return v.Set.Observed == v.Set.Generation && v.Set.Update != v.Set.Annotations[events.AnnotationConvergedRevision]
	}))
	must(t, set.observer.Until(t.Context(), rollsWithin, "the roll has not ended", observer.View.Settled))
	r, err := set.observer.Report(mark)
	must(t, err)
	tally := set.writer.Tally(r.From)
	t.Logf("rolled from zero in %s: %d steps, %d moves, %d unplanned, longest write gap %s, %d failed writes; %s", time.Since(began).Round(100*time.Millisecond),
		r.Steps, r.Planned, r.Unplanned, tally.Longest.Took.Round(time.Millisecond), tally.Failed, line.since(began))
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

func serviceIsReady(t *testing.T, namespace string) {
	t.Helper()
	began := time.Now()
	if _, err := shared.Kubectl(t.Context(), nil, "-n", namespace, "wait", "--for=condition=Ready", "--timeout=90s", "services.serving.knative.dev/etcdroll-roll-fn"); err != nil {
		state, _ := shared.Kubectl(t.Context(), nil, "-n", namespace, "get", "ksvc,configuration,revision,route,podautoscaler,serverlessservice,kingress,deployment,pod", "-o", "yaml")
		t.Fatalf("%v\n%s", err, state)
	}
	t.Logf("the Knative Service is Ready after %s", time.Since(began).Round(100*time.Millisecond))
}

type aRolledSet struct {
	*etcdset.Set
	observer *observer.Observer
	writer   *writer.Writer
}

// aSet has three members that are up, and a writer.
func aSet(t *testing.T, namespace string) *aRolledSet {
	t.Helper()
	set, err := etcdset.Create(t.Context(), shared.Client, etcdset.Options{Namespace: namespace, Config: etcdset.Quick()})
	must(t, err)
	watching, err := observer.Start(t.Context(), shared.Client, namespace, set.Name)
	must(t, err)
	t.Cleanup(watching.Stop)
	must(t, watching.Until(t.Context(), formsWithin, "the set has not formed", observer.View.AllUp))
	endpoints, err := set.Endpoints(t.Context())
	must(t, err)
	writing, err := writer.Start(slices.Collect(maps.Values(endpoints)), 50)
	must(t, err)
	t.Cleanup(func() {
		if err := writing.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error("writes were lost:", err)
		}
	})
	return &aRolledSet{set, watching, writing}
}
