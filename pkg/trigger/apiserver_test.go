package trigger

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiServer speaks just enough of the API to be listed, watched and asked for a lease over real HTTP, and can be made
// to misbehave: to forbid, to hold watches back, never to end an initial list.
type apiServer struct {
	*httptest.Server
	mu      sync.Mutex
	version int
	objects map[string]metav1.Object // "statefulsets/prod/etcd"
	log     []change
	wake    chan struct{}
	lease   *coordinationv1.Lease

	forbid     map[string]bool // "list statefulsets"
	mute       bool            // watches deliver nothing any more
	noBookmark bool            // an initial list by watch never ends
	expired    int             // so many watches are refused with 410 Gone when they connect
	requests   []string        // "list statefulsets"
	selectors  []string
}

type change struct {
	version         int
	verb, key       string
	object          metav1.Object
	kind, namespace string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{objects: map[string]metav1.Object{}, wake: make(chan struct{}), forbid: map[string]bool{}, version: 1}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// kubeconfig writes a file that points at the server.
func (s *apiServer) kubeconfig(t *testing.T) string {
	t.Helper()
	return writeKubeconfig(t, s.URL)
}

func writeKubeconfig(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],` +
		`"clusters":[{"name":"c","cluster":{"server":"` + url + `"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *apiServer) put(kind string, object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := kind + "/" + object.GetNamespace() + "/" + object.GetName()
	verb := "ADDED"
	if _, exists := s.objects[key]; exists {
		verb = "MODIFIED"
	}
	s.record(verb, kind, key, object)
	s.objects[key] = object
}

func (s *apiServer) remove(kind, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key = kind + "/" + key
	s.record("DELETED", kind, key, s.objects[key])
	delete(s.objects, key)
}

func (s *apiServer) record(verb, kind, key string, object metav1.Object) {
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.log = append(s.log, change{s.version, verb, key, object, kind, object.GetNamespace()})
	close(s.wake)
	s.wake = make(chan struct{})
}

// ServeHTTP knows /apis/apps/v1/[namespaces/NS/]statefulsets, the same for pods, and leases.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	namespace, rest := "", parts[2:]
	if parts[0] == "apis" {
		rest = parts[3:]
	}
	if rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	kind := rest[0]
	watching := r.URL.Query().Get("watch") != ""
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update"}[r.Method]
	switch {
	case watching:
		verb = "watch"
	case verb == "" && len(rest) > 1:
		verb = "get"
	case verb == "":
		verb = "list"
	}
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+kind)
	s.selectors = append(s.selectors, r.URL.Query().Get("labelSelector"))
	forbidden := s.forbid[verb+" "+kind]
	gone := watching && s.expired > 0
	if gone {
		s.expired--
	}
	s.mu.Unlock()
	switch {
	case forbidden:
		status(w, http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			`%s is forbidden: User "system:serviceaccount:x:y" cannot %s resource %q in API group "" in the namespace %q`, kind, verb, kind, namespace))
	case gone:
		status(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
	case kind == "leases":
		s.serveLease(w, r, verb)
	case watching:
		s.serveWatch(w, r, kind, namespace)
	default:
		s.serveList(w, r, kind, namespace)
	}
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason, Message: message,
	})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *apiServer) selected(r *http.Request, kind, namespace, objectKind string, object metav1.Object) bool {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	return err == nil && kind == objectKind && (namespace == "" || namespace == object.GetNamespace()) &&
		selector.Matches(labels.Set(object.GetLabels()))
}

func (s *apiServer) serveList(w http.ResponseWriter, r *http.Request, kind, namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for key, object := range s.objects {
		if s.selected(r, kind, namespace, strings.SplitN(key, "/", 2)[0], object) {
			items = append(items, shape(r, kind, object))
		}
	}
	list := map[string]any{
		"kind": "StatefulSetList", "apiVersion": "apps/v1", "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)},
	}
	if asMetadata(r) {
		list["kind"], list["apiVersion"] = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	answer(w, http.StatusOK, list)
}

func asMetadata(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// shape gives an object the kind that the client has asked for.
func shape(r *http.Request, kind string, object metav1.Object) any {
	if set, ok := object.(*appsv1.StatefulSet); ok && !asMetadata(r) {
		copied := set.DeepCopy()
		copied.TypeMeta = metav1.TypeMeta{Kind: "StatefulSet", APIVersion: "apps/v1"}
		return copied
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Labels: object.GetLabels(),
			ResourceVersion: object.GetResourceVersion(), OwnerReferences: object.GetOwnerReferences(),
			DeletionTimestamp: object.GetDeletionTimestamp(), Annotations: object.GetAnnotations(),
		},
	}
}

func (s *apiServer) serveWatch(w http.ResponseWriter, r *http.Request, kind, namespace string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	send := func(verb string, object any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": verb, "object": object})
		w.(http.Flusher).Flush()
	}
	w.(http.Flusher).Flush()
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		since = s.sendInitial(r, kind, namespace, send)
	}
	for {
		s.mu.Lock()
		wake, mute, news := s.wake, s.mute, slices.Clone(s.log)
		s.mu.Unlock()
		for _, c := range news {
			if c.version > since && !mute && s.selected(r, kind, namespace, c.kind, c.object) {
				send(c.verb, shape(r, kind, c.object))
			}
		}
		if len(news) > 0 {
			since = max(since, news[len(news)-1].version)
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *apiServer) sendInitial(r *http.Request, kind, namespace string, send func(string, any)) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, object := range s.objects {
		if s.selected(r, kind, namespace, strings.SplitN(key, "/", 2)[0], object) {
			send("ADDED", shape(r, kind, object))
		}
	}
	if !s.noBookmark {
		send("BOOKMARK", shape(r, kind, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: strconv.Itoa(s.version), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}))
	}
	return s.version
}

func (s *apiServer) serveLease(w http.ResponseWriter, r *http.Request, verb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if verb != "get" {
		body, _ := io.ReadAll(r.Body)
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		sent, ok := object.(*coordinationv1.Lease)
		if err != nil || !ok {
			status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "no lease")
			return
		}
		if verb == "update" && (s.lease == nil || sent.ResourceVersion != s.lease.ResourceVersion) {
			status(w, http.StatusConflict, metav1.StatusReasonConflict, "changed meanwhile")
			return
		}
		s.version++
		sent.ResourceVersion = strconv.Itoa(s.version)
		s.lease = sent
	}
	if s.lease == nil {
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no lease yet")
		return
	}
	s.lease.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	answer(w, http.StatusOK, s.lease)
}

// count is how often something was asked for, such as "list pods".
func (s *apiServer) count(request string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r == request {
			n++
		}
	}
	return n
}
