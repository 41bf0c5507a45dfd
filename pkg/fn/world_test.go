package fn

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// world is an API server and an etcd cluster, as far as the function sees
// them. Patches are applied for real, with their preconditions.
type world struct {
	mu      sync.Mutex
	now     time.Time
	set     *appsv1.StatefulSet
	pods    map[string]*corev1.Pod
	configs map[string]*corev1.ConfigMap
	secrets map[string]*corev1.Secret
	budgets []policyv1.PodDisruptionBudget
	may     bool

	calls   []string               // every request, in order
	fails   map[string][]error     // by call, the first is given next; nil lets one pass
	before  map[string]func()      // runs before a call of that name
	patches []Patch                // those that arrived
	deletes map[string]PodIdentity // by pod
	told    []*eventsv1.Event

	members map[int]*guard.Member
	leader  int
	commit  uint64
	leads   map[int]guard.Answer // last words that differ from the probe
	probes  int
	moves   []guard.ID
	moveErr error
}

// newWorld is a healthy locked set of that many members on one revision.
func newWorld(replicas int) *world {
	w := &world{
		now: noon, pods: map[string]*corev1.Pod{}, configs: map[string]*corev1.ConfigMap{}, secrets: map[string]*corev1.Secret{},
		fails: map[string][]error{}, before: map[string]func(){}, deletes: map[string]PodIdentity{},
		members: map[int]*guard.Member{}, leads: map[int]guard.Answer{}, commit: 100,
	}
	w.set = etcdSet(replicas)
	for i := range replicas {
		w.pods[fmt.Sprintf("etcd-%d", i)] = etcdPod(fmt.Sprintf("etcd-%d", i), oldRevision)
		w.members[i] = &guard.Member{
			Reached: true, ID: memberID(i), Cluster: 77, Term: 5, Version: "3.6.16", Read: guard.Yes,
			First: guard.Sample{Applied: 100, Revision: 90}, Last: guard.Sample{Applied: 100, Revision: 90},
			Peers: peers(replicas), DBSize: 1 << 20,
		}
	}
	return w
}

// outdated gives the set a new template that no pod runs yet.
func (w *world) outdated() *world {
	w.set.Status.UpdateRevision = newRevision
	return w
}

// enter notes a call and gives the failure that was planned for it.
func (w *world) enter(ctx context.Context, call string) error {
	w.mu.Lock()
	before := w.before[call]
	w.mu.Unlock()
	if before != nil {
		before()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, call)
	if err := ctx.Err(); err != nil {
		return err
	}
	if planned := w.fails[call]; len(planned) > 0 {
		w.fails[call] = planned[1:]
		return planned[0]
	}
	return nil
}

func (w *world) Set(ctx context.Context, _, name string) (*appsv1.StatefulSet, time.Time, error) {
	if err := w.enter(ctx, "get set"); err != nil {
		return nil, time.Time{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.set == nil || w.set.Name != name {
		return nil, w.now, notFound("statefulsets", name)
	}
	return w.set.DeepCopy(), w.now, nil
}

func (w *world) Pod(ctx context.Context, _, name string) (*corev1.Pod, error) {
	if err := w.enter(ctx, "get pod "+name); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[name]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, notFound("pods", name)
}

func (w *world) ConfigMap(ctx context.Context, _, name string) (*corev1.ConfigMap, error) {
	if err := w.enter(ctx, "get configmap "+name); err != nil {
		return nil, err
	}
	if m := w.configs[name]; m != nil {
		return m, nil
	}
	return nil, notFound("configmaps", name)
}

func (w *world) Secret(ctx context.Context, _, name string) (*corev1.Secret, error) {
	if err := w.enter(ctx, "get secret "+name); err != nil {
		return nil, err
	}
	if s := w.secrets[name]; s != nil {
		return s, nil
	}
	return nil, notFound("secrets", name)
}

func (w *world) Budgets(ctx context.Context, _ string) ([]policyv1.PodDisruptionBudget, error) {
	return w.budgets, w.enter(ctx, "list budgets")
}

func (w *world) MayDeletePods(ctx context.Context, _ string) (bool, error) {
	return w.may, w.enter(ctx, "ask rights")
}

func (w *world) PatchSet(ctx context.Context, _, name string, patch Patch) error {
	if err := w.enter(ctx, "patch set"); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	next, err := w.patched(patch)
	if err != nil {
		return err
	}
	if next.ResourceVersion != w.set.ResourceVersion || next.UID != w.set.UID {
		return apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "statefulsets"}, name, fmt.Errorf("the object has been modified"))
	}
	w.patches = append(w.patches, patch)
	if fmt.Sprint(next.Spec.UpdateStrategy.RollingUpdate) != fmt.Sprint(w.set.Spec.UpdateStrategy.RollingUpdate) || partition(next) != partition(w.set) {
		next.Generation++
	}
	w.set = next
	w.touch()
	return nil
}

// touch is a change of the set by somebody.
func (w *world) touch() {
	version, _ := strconv.Atoi(w.set.ResourceVersion)
	w.set.ResourceVersion = strconv.Itoa(version + 1)
}

func (w *world) patched(patch Patch) (*appsv1.StatefulSet, error) {
	current, err := json.Marshal(w.set)
	if err != nil {
		return nil, err
	}
	var out []byte
	switch patch.Type {
	case types.MergePatchType:
		out, err = jsonpatch.MergePatch(current, patch.Body)
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(patch.Body); err == nil {
			out, err = p.Apply(current)
		}
	}
	if err != nil {
		return nil, err
	}
	next := &appsv1.StatefulSet{}
	return next, json.Unmarshal(out, next)
}

func (w *world) DeletePod(ctx context.Context, _, name string, only PodIdentity) error {
	if err := w.enter(ctx, "delete pod "+name); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[name]
	if p == nil {
		return notFound("pods", name)
	}
	if string(p.UID) != only.UID || p.ResourceVersion != only.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, name, fmt.Errorf("precondition failed"))
	}
	w.deletes[name] = only
	delete(w.pods, name)
	return nil
}

func (w *world) RecordEvent(ctx context.Context, e *eventsv1.Event) error {
	if err := w.enter(ctx, "record event"); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, e)
	return nil
}

// count is how often a call was made.
func (w *world) count(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (w *world) note(t *testing.T, key string) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set.Annotations[key]
}
