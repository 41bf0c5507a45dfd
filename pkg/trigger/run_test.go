package trigger

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// sinkRecorder accepts everything with 202 and remembers the subjects.
type sinkRecorder struct {
	*httptest.Server
	mu       sync.Mutex
	subjects []string
}

func newSinkRecorder(t *testing.T) *sinkRecorder {
	t.Helper()
	s := &sinkRecorder{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.subjects = append(s.subjects, r.Header.Get("Ce-Subject"))
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sinkRecorder) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.subjects)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func options(t *testing.T, kubeconfig, sink string, more ...string) Options {
	t.Helper()
	args := append([]string{"--kubeconfig", kubeconfig, "--sink", sink, "--listen", freeAddress(t), "--namespaces", "prod"}, more...)
	o, err := ParseOptions(args, func(string) string { return "" }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// start runs the process and returns how it ends.
func start(t *testing.T, o Options) (stop func(), ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, o, quiet()) }()
	t.Cleanup(cancel)
	return cancel, done
}

func wait(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("the process does not end")
		return nil
	}
}

func ready(address string) (int, string) {
	resp, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func TestRunWatchesAndAsksAndStopsWhenTold(t *testing.T) {
	api, sink := newAPIServer(t), newSinkRecorder(t)
	api.put("statefulsets", apiSet("etcd", nil))
	api.put("statefulsets", apiSet("unmanaged", func(s *appsv1.StatefulSet) { s.Labels = nil; s.Status.UpdateRevision = "b" }))
	for i := range 3 {
		api.put("pods", apiPod("etcd", i, "a"))
	}
	o := options(t, api.kubeconfig(t), sink.URL)
	stop, ended := start(t, o)
	eventually(t, "ready", func() bool { code, _ := ready(o.Listen); return code == http.StatusOK })
	eventually(t, "the lease is held", func() bool { api.mu.Lock(); defer api.mu.Unlock(); return api.lease != nil })
	if got := sink.got(); len(got) != 0 {
		t.Errorf("events about %v although nothing is to do", got)
	}
	api.put("pods", apiPod("etcd", 1, "old")) // evicted, and came back on the old revision
	eventually(t, "the sink hears of the pod", func() bool { return slices.Contains(sink.got(), "prod/etcd") })
	api.put("pods", apiPod("etcd", 1, "a"))
	api.put("statefulsets", apiSet("fresh", func(s *appsv1.StatefulSet) { s.Annotations = nil }))
	eventually(t, "the sink hears of the new set", func() bool { return slices.Contains(sink.got(), "prod/fresh") })
	if slices.Contains(sink.got(), "prod/unmanaged") {
		t.Error("an event about a set that is not opted in")
	}
	stop()
	if err := wait(t, ended); err != nil {
		t.Errorf("ended with %v", err)
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	if holder := *api.lease.Spec.HolderIdentity; holder != "" {
		t.Errorf("the lease was not given back, %q holds it", holder)
	}
	assertRights(t, api.requests)
}

// assertRights: the trigger needs no more than its Role grants.
func assertRights(t *testing.T, requests []string) {
	t.Helper()
	granted := []string{
		"list statefulsets", "watch statefulsets", "list pods", "watch pods", "get leases", "create leases", "update leases",
	}
	for _, request := range requests {
		if !slices.Contains(granted, request) {
			t.Errorf("the trigger does %q", request)
		}
	}
}

// The watches break, and the place where they left off has expired when they
// connect again: the caches are filled anew and nothing is missed.
func TestCG07_AnExpiredWatchIsListedAnew(t *testing.T) {
	api, sink := newAPIServer(t), newSinkRecorder(t)
	api.put("statefulsets", apiSet("etcd", nil))
	api.put("pods", apiPod("etcd", 0, "a"))
	o := options(t, api.kubeconfig(t), sink.URL, "--leader-elect=false")
	_, _ = start(t, o)
	eventually(t, "ready", func() bool { code, _ := ready(o.Listen); return code == http.StatusOK })
	api.mu.Lock()
	api.expired = 2 // one for sets, one for pods
	api.mu.Unlock()
	api.CloseClientConnections()
	api.put("pods", apiPod("etcd", 0, "old"))
	eventually(t, "both watches were refused", func() bool { api.mu.Lock(); defer api.mu.Unlock(); return api.expired == 0 })
	eventually(t, "the sink hears of the pod all the same", func() bool { return slices.Contains(sink.got(), "prod/etcd") })
}

func TestCG10_MissingRightIsFatalAndSpelledOut(t *testing.T) {
	for _, right := range []string{"list statefulsets", "list pods", "watch statefulsets", "watch pods", "get leases", "create leases"} {
		t.Run(right, func(t *testing.T) {
			api, sink := newAPIServer(t), newSinkRecorder(t)
			api.forbid[right] = true
			_, ended := start(t, options(t, api.kubeconfig(t), sink.URL))
			err := wait(t, ended)
			verb, resource, _ := strings.Cut(right, " ")
			if err == nil || !strings.Contains(err.Error(), `missing right: verb "`+verb+`" on resource "`+resource+`"`) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestAnAPIServerThatRefusesForAMomentIsOutlived(t *testing.T) {
	api, sink := newAPIServer(t), newSinkRecorder(t)
	api.put("statefulsets", apiSet("etcd", nil))
	api.put("pods", apiPod("etcd", 0, "a"))
	o := options(t, api.kubeconfig(t), sink.URL)
	_, ended := start(t, o)
	eventually(t, "ready", func() bool { code, _ := ready(o.Listen); return code == http.StatusOK })
	eventually(t, "the lease is held", func() bool { api.mu.Lock(); defer api.mu.Unlock(); return api.lease != nil })
	forbid := func(is bool) {
		api.mu.Lock()
		defer api.mu.Unlock()
		for _, right := range []string{"watch pods", "list pods", "watch statefulsets", "list statefulsets", "get leases", "update leases"} {
			api.forbid[right] = is
		}
	}
	forbid(true)
	asked := api.count("watch pods") + api.count("list pods")
	api.CloseClientConnections()
	eventually(t, "pods are refused", func() bool { return api.count("watch pods")+api.count("list pods") > asked })
	forbid(false)
	api.put("pods", apiPod("etcd", 0, "old"))
	eventually(t, "the sink hears of the pod", func() bool { return slices.Contains(sink.got(), "prod/etcd") })
	select {
	case err := <-ended:
		t.Errorf("ended with %v", err)
	default:
	}
}

func TestRightTakenAwayLaterIsFatalToo(t *testing.T) {
	api, sink := newAPIServer(t), newSinkRecorder(t)
	o := options(t, api.kubeconfig(t), sink.URL, "--leader-elect=false")
	o.Patience = 10 * time.Millisecond
	_, ended := start(t, o)
	eventually(t, "ready", func() bool { code, _ := ready(o.Listen); return code == http.StatusOK })
	api.mu.Lock()
	api.forbid["watch pods"], api.forbid["list pods"] = true, true
	api.mu.Unlock()
	api.CloseClientConnections()
	if err := wait(t, ended); err == nil || !strings.Contains(err.Error(), "missing right") {
		t.Errorf("ended with %v", err)
	}
}

func TestCG05_CachesThatDoNotFillEndTheProcess(t *testing.T) {
	api, sink := newAPIServer(t), newSinkRecorder(t)
	api.noBookmark = true
	_, ended := start(t, options(t, api.kubeconfig(t), sink.URL, "--sync-timeout", "400ms"))
	err := wait(t, ended)
	if err == nil || !strings.Contains(err.Error(), "KUBE_FEATURE_WatchListClient=false") || !strings.Contains(err.Error(), "400ms") {
		t.Errorf("ended with %v", err)
	}
}

func TestUnreachableAPIServerIsOneClearLine(t *testing.T) {
	address := freeAddress(t)
	_, ended := start(t, options(t, writeKubeconfig(t, "http://"+address), "http://127.0.0.1:1"))
	err := wait(t, ended)
	if err == nil || !strings.Contains(err.Error(), "cannot reach the API server at "+address) || strings.Contains(err.Error(), "\n") {
		t.Errorf("ended with %v", err)
	}
}

func TestKN14_WithoutASinkItStaysUnreadyAndReadsNothing(t *testing.T) {
	api := newAPIServer(t)
	o := options(t, api.kubeconfig(t), "")
	stop, ended := start(t, o)
	eventually(t, "an answer", func() bool { code, _ := ready(o.Listen); return code != 0 })
	if code, text := ready(o.Listen); code != http.StatusServiceUnavailable || !strings.Contains(text, "K_SINK") {
		t.Errorf("%d %s", code, text)
	}
	stop()
	if err := wait(t, ended); err != nil {
		t.Errorf("ended with %v", err)
	}
	if len(api.requests) != 0 {
		t.Errorf("requests %v", api.requests)
	}
}

func TestAddressInUseIsOneClearLine(t *testing.T) {
	sink := newSinkRecorder(t)
	o := options(t, "unused", sink.URL)
	o.Listen = strings.TrimPrefix(sink.URL, "http://")
	if err := Run(t.Context(), o, quiet()); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("ended with %v", err)
	}
}

func TestMissingKubeconfigIsNamed(t *testing.T) {
	if err := Run(t.Context(), options(t, "/nowhere/kubeconfig", "http://127.0.0.1:1"), quiet()); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("ended with %v", err)
	}
	if err := Run(t.Context(), options(t, "", "http://127.0.0.1:1"), quiet()); err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Errorf("ended with %v", err)
	}
}
