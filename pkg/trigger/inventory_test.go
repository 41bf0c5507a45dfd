package trigger

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// model is the inventory as plainly as it can be said: all objects, looked through each time.
type model struct {
	sets map[string]*appsv1.StatefulSet
	pods map[string]*metav1.PartialObjectMetadata
}

func (m model) look(key string) (SetView, []PodView, bool) {
	set, ok := m.sets[key]
	if !ok {
		return SetView{}, nil, false
	}
	view := viewOfSet(set)
	var pods []PodView
	for _, pod := range m.pods {
		name, uid, owned := ownerSet(pod)
		ordinal, numbered := ordinalOf(set.Name, pod.Name)
		if owned && name == set.Name && uid == view.UID && numbered {
			pods = append(pods, PodView{UID: string(pod.UID), Index: ordinal - view.OrdinalsStart,
				Revision: pod.Labels["controller-revision-hash"], Terminating: pod.DeletionTimestamp != nil})
		}
	}
	return view, pods, true
}

var (
	someSet = rapid.Custom(func(t *rapid.T) *appsv1.StatefulSet {
		name := rapid.SampledFrom([]string{"a", "a-0", "b"}).Draw(t, "name")
		return apiSet(name, func(s *appsv1.StatefulSet) {
			s.UID = types.UID(rapid.SampledFrom([]string{"uid-1", "uid-2"}).Draw(t, "uid"))
			s.ResourceVersion = fmt.Sprint(rapid.IntRange(1, 1<<40).Draw(t, "version"))
			s.Status.UpdateRevision = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "update")
			s.Annotations["etcdroll.dev/converged-revision"] = rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "converged")
		})
	})
	somePod = rapid.Custom(func(t *rapid.T) *metav1.PartialObjectMetadata {
		set := rapid.SampledFrom([]string{"a", "a-0", "b"}).Draw(t, "set")
		pod := apiPod(set, rapid.IntRange(0, 2).Draw(t, "ordinal"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "revision"))
		pod.ResourceVersion = fmt.Sprint(rapid.IntRange(1, 1<<40).Draw(t, "version"))
		pod.OwnerReferences[0].UID = types.UID(rapid.SampledFrom([]string{"uid-1", "uid-2"}).Draw(t, "owner"))
		pod.OwnerReferences[0].Kind = rapid.SampledFrom([]string{"StatefulSet", "StatefulSet", "Job"}).Draw(t, "kind")
		if rapid.Bool().Draw(t, "odd name") {
			pod.Name = rapid.SampledFrom([]string{"a", "a-x", "a-00", "b-0-1", "-1"}).Draw(t, "name")
		}
		if rapid.Bool().Draw(t, "terminating") {
			pod.DeletionTimestamp = &metav1.Time{Time: noon}
		}
		return pod
	})
)

// stocked is an inventory and its model under the same changes.
type stocked struct {
	*inventory
	model model
	told  map[string]bool
	sets  *feed[strippedSet]
	pods  *feed[strippedPod]
}

func newStocked() *stocked {
	s := &stocked{inventory: newInventory(), told: map[string]bool{},
		model: model{map[string]*appsv1.StatefulSet{}, map[string]*metav1.PartialObjectMetadata{}}}
	tell := func(key string) { s.told[key] = true }
	s.sets, s.pods = s.setFeed(tell), s.podFeed(tell)
	return s
}

// change does one thing that a reflector may do.
func (s *stocked) change(t *rapid.T) error {
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0, 1:
		set := someSet.Draw(t, "set")
		s.model.sets["prod/"+set.Name] = set
		return s.sets.Add(set)
	case 2:
		set := someSet.Draw(t, "gone set")
		delete(s.model.sets, "prod/"+set.Name)
		return s.sets.Delete(set)
	case 3:
		pod := somePod.Draw(t, "gone pod")
		delete(s.model.pods, pod.Name)
		return s.pods.Delete(pod)
	case 4:
		return s.relist(t)
	default:
		pod := somePod.Draw(t, "pod")
		s.model.pods[pod.Name] = pod
		return s.pods.Update(pod)
	}
}

func (s *stocked) relist(t *rapid.T) error {
	clear(s.model.sets)
	clear(s.model.pods)
	var sets, pods []any
	for _, set := range rapid.SliceOfNDistinct(someSet, 0, 3, func(s *appsv1.StatefulSet) string { return s.Name }).Draw(t, "sets") {
		s.model.sets["prod/"+set.Name], sets = set, append(sets, set)
	}
	for _, pod := range rapid.SliceOfNDistinct(somePod, 0, 6, func(p *metav1.PartialObjectMetadata) string { return p.Name }).Draw(t, "pods") {
		s.model.pods[pod.Name] = pod
		stripped, err := s.pods.Transformer()(pod) // as the reflector has it after a list by watch
		if err != nil {
			return err
		}
		pods = append(pods, stripped)
	}
	if err := s.sets.Replace(sets, "1"); err != nil {
		return err
	}
	return s.pods.Replace(pods, "1")
}

func TestTheInventoryIsWhatTheObjectsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStocked()
		keys := []string{"prod/a", "prod/a-0", "prod/b"}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			clear(s.told)
			before := map[string]string{}
			for _, key := range keys {
				set, pods, _ := s.model.look(key)
				before[key] = Fingerprint(set, pods) + set.ConvergedRevision
			}
			if err := s.change(t); err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				set, pods, ok := s.look(key)
				want, wantPods, wantOK := s.model.look(key)
				if ok != wantOK || (ok && (*set != want || Fingerprint(*set, pods) != Fingerprint(want, wantPods))) {
					t.Fatalf("%s: %+v %+v %v\nwant %+v %+v %v", key, set, pods, ok, want, wantPods, wantOK)
				}
				if after := Fingerprint(want, wantPods) + want.ConvergedRevision; after != before[key] && !s.told[key] {
					t.Fatalf("%s has changed and nobody was told", key)
				}
			}
			if got := slices.Sorted(slices.Values(s.keys())); !slices.Equal(got, slices.Sorted(maps.Keys(s.model.sets))) {
				t.Fatalf("sets %v, want %v", got, s.model.sets)
			}
		}
	})
}

func TestAStatusUpdateOfAPodCallsNobody(t *testing.T) {
	s := newStocked()
	pod := apiPod("etcd", 0, "a")
	for i, want := range []bool{true, false, false} {
		clear(s.told)
		pod.ResourceVersion = fmt.Sprint(i)
		if err := s.pods.Update(pod.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		if s.told["prod/etcd"] != want {
			t.Errorf("update %d: told %v", i, s.told)
		}
	}
	for object, version := range (&Cache{stock: map[string]*inventory{"prod": s.inventory}}).heldPods() {
		if object != "prod/etcd-0" || version != "2" {
			t.Errorf("holds %s in version %s", object, version)
		}
	}
}

func TestForeignObjectsInAWatchAreAnError(t *testing.T) {
	s := newStocked()
	if s.sets.Add(apiPod("etcd", 0, "a")) == nil || s.pods.Delete(apiSet("etcd", nil)) == nil || s.pods.Replace([]any{"x"}, "1") == nil {
		t.Error("taken")
	}
}
