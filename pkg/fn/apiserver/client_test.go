package apiserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/etcdroll/etcdroll/pkg/fn"
)

// server is an API server that answers what it is told to.
type server struct {
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	answer   func(w http.ResponseWriter, r *http.Request)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	s.answer(w, r)
}

func answer(object any) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(object) }
}

func status(code int, reason metav1.StatusReason, retryAfter string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code), Message: "because"})
	}
}

func start(t *testing.T, respond func(http.ResponseWriter, *http.Request)) (*server, *Client) {
	t.Helper()
	s := &server{answer: respond}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	c, err := New(&rest.Config{Host: h.URL})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

const setJSON = `{"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"name":"etcd","namespace":"db","resourceVersion":"9","managedFields":[{"manager":"x","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},"spec":{"replicas":3}}`

func TestCG01_CG11_ReadsAreLiveByNameAndNotFromACache(t *testing.T) {
	s, c := start(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/statefulsets/"):
			_, _ = io.WriteString(w, setJSON)
		case strings.Contains(r.URL.Path, "/pods/"):
			answer(corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}})(w, r)
		case strings.Contains(r.URL.Path, "/secrets/"):
			answer(corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, Data: map[string][]byte{"a": []byte("b")}})(w, r)
		default:
			answer(corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}})(w, r)
		}
	})
	ctx := t.Context()
	set, _, err := c.Set(ctx, "db", "etcd")
	if err != nil || set.ResourceVersion != "9" || *set.Spec.Replicas != 3 || len(set.ManagedFields) != 1 {
		t.Fatal(set, err)
	}
	_, errPod := c.Pod(ctx, "db", "etcd-0")
	secret, errSecret := c.Secret(ctx, "db", "tls")
	_, errMap := c.ConfigMap(ctx, "db", "roll")
	if errPod != nil || errSecret != nil || errMap != nil || string(secret.Data["a"]) != "b" {
		t.Fatal(errPod, errSecret, errMap)
	}
	want := []string{"/apis/apps/v1/namespaces/db/statefulsets/etcd", "/api/v1/namespaces/db/pods/etcd-0", "/api/v1/namespaces/db/secrets/tls", "/api/v1/namespaces/db/configmaps/roll"}
	for i, r := range s.requests {
		if r.Method != http.MethodGet || r.URL.Path != want[i] || r.URL.RawQuery != "" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}
}

func TestServersClockComesWithTheSet(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 7, 0, time.UTC)
	_, c := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", at.Format(http.TimeFormat))
		_, _ = io.WriteString(w, setJSON)
	})
	if _, got, err := c.Set(t.Context(), "db", "etcd"); err != nil || !got.Equal(at) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestClockIsKeptAlsoWhenTheSetIsGoneAndMissingWhenNotTold(t *testing.T) {
	_, c := start(t, status(http.StatusNotFound, metav1.StatusReasonNotFound, ""))
	if _, got, err := c.Set(t.Context(), "db", "etcd"); !apierrors.IsNotFound(err) || got.IsZero() {
		t.Errorf("%v, %v", got, err)
	}
	_, c = start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		_, _ = io.WriteString(w, setJSON)
	})
	if _, got, err := c.Set(t.Context(), "db", "etcd"); err != nil || !got.IsZero() {
		t.Errorf("%v, %v", got, err)
	}
}

func TestPatchNamesOurFieldManager(t *testing.T) {
	s, c := start(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, setJSON) })
	if err := c.PatchSet(t.Context(), "db", "etcd", fn.Patch{Type: types.MergePatchType, Body: []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	r := s.requests[0]
	if r.Method != http.MethodPatch || r.URL.Query().Get("fieldManager") != "etcdroll" || r.URL.Query().Has("force") ||
		r.Header.Get("Content-Type") != "application/merge-patch+json" || s.bodies[0] != `{"a":1}` {
		t.Errorf("%s %s %s: %s", r.Method, r.URL, r.Header.Get("Content-Type"), s.bodies[0])
	}
}

func TestCG02_ChangesAreSentOnceWhateverTheServerAdvises(t *testing.T) {
	s, c := start(t, status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "1"))
	only := fn.PodIdentity{UID: "u", ResourceVersion: "7"}
	errs := []error{
		c.PatchSet(t.Context(), "db", "etcd", fn.Patch{Type: types.MergePatchType, Body: []byte(`{}`)}),
		c.DeletePod(t.Context(), "db", "etcd-2", only),
		c.RecordEvent(t.Context(), &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "x"}}),
	}
	for _, err := range errs {
		if !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
	}
	if len(s.requests) != 3 {
		t.Errorf("%d requests for three changes", len(s.requests))
	}
}

func TestDeleteNamesThePodItMeans(t *testing.T) {
	s, c := start(t, answer(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"}))
	if err := c.DeletePod(t.Context(), "db", "etcd-2", fn.PodIdentity{UID: "u-1", ResourceVersion: "7"}); err != nil {
		t.Fatal(err)
	}
	var options metav1.DeleteOptions
	if err := json.Unmarshal([]byte(s.bodies[0]), &options); err != nil {
		t.Fatal(err)
	}
	p := options.Preconditions
	if s.requests[0].Method != http.MethodDelete || p == nil || *p.UID != "u-1" || *p.ResourceVersion != "7" || options.GracePeriodSeconds != nil {
		t.Errorf("%s: %s", s.requests[0].Method, s.bodies[0])
	}
}

func TestRightsAreAskedForUsAndOneNamespace(t *testing.T) {
	s, c := start(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{},"status":{"allowed":true}}`)
	})
	may, err := c.MayDeletePods(t.Context(), "db")
	if err != nil || !may {
		t.Fatal(may, err)
	}
	if b := s.bodies[0]; !strings.Contains(b, `"namespace":"db"`) || !strings.Contains(b, `"verb":"delete"`) || !strings.Contains(b, `"resource":"pods"`) {
		t.Errorf("asked %s", b)
	}
	_, c = start(t, status(http.StatusForbidden, metav1.StatusReasonForbidden, ""))
	if may, err := c.MayDeletePods(t.Context(), "db"); may || !apierrors.IsForbidden(err) {
		t.Errorf("%t, %v", may, err)
	}
}

func TestBudgetsAreListedInOneNamespace(t *testing.T) {
	s, c := start(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1","items":[{"metadata":{"name":"a"}}]}`)
	})
	list, err := c.Budgets(t.Context(), "db")
	if err != nil || len(list) != 1 || list[0].Name != "a" || s.requests[0].URL.Path != "/apis/policy/v1/namespaces/db/poddisruptionbudgets" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestReachTellsAServerThatRefusesFromNone(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   bool
	}{
		"fine":        {answer(map[string]string{"major": "1"}), true},
		"no right":    {status(http.StatusForbidden, metav1.StatusReasonForbidden, ""), true},
		"who are you": {status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, ""), false},
		"not ready":   {status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "1"), false},
	} {
		_, client := start(t, c.answer)
		if err := client.Reach(t.Context()); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	nobody, err := New(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := nobody.Reach(t.Context()); err == nil {
		t.Error("nobody is reached")
	}
}

func TestDeadlineOfTheCallerHolds(t *testing.T) {
	_, c := start(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.PatchSet(ctx, "db", "etcd", fn.Patch{Type: types.MergePatchType, Body: []byte(`{}`)}); err == nil {
		t.Error("no error")
	}
}

func TestAnswerThatIsNoObjectIsAnError(t *testing.T) {
	_, c := start(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"kind":`) })
	if set, _, err := c.Set(t.Context(), "db", "etcd"); err == nil {
		t.Errorf("got %v", set)
	}
}
