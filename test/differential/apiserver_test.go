package differential

import (
	"fmt"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// apiServer answers the real controller from memory. What it holds is also the
// controller's cache: the controller sees at once what it has done.
type apiServer struct {
	sets, pods, claims, revisions cache.Indexer
	did                           deeds
	refusesStatus                 bool
}

// deeds is what the controller did in one sync.
type deeds struct {
	created []*core.Pod
	deleted []string
	status  *apps.StatefulSetStatus // nil: none was written
}

func newStore() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// react serves one request of the controller. Requests come one at a time.
func (s *apiServer) react(a clienttesting.Action) (bool, runtime.Object, error) {
	switch request := a.GetVerb() + " " + a.GetResource().Resource + " " + a.GetSubresource(); request {
	case "create pods ":
		return s.createPod(a.(clienttesting.CreateAction).GetObject().(*core.Pod))
	case "delete pods ":
		return true, nil, s.deletePod(a.(clienttesting.DeleteAction).GetName())
	case "create controllerrevisions ":
		return s.store(s.revisions, a.(clienttesting.CreateAction).GetObject())
	case "update controllerrevisions ":
		return s.store(s.revisions, a.(clienttesting.UpdateAction).GetObject())
	case "update statefulsets status":
		return s.updateStatus(a.(clienttesting.UpdateAction).GetObject().(*apps.StatefulSet))
	default:
		return true, nil, fmt.Errorf("the controller was not expected to %s", request)
	}
}

// store keeps an object in the namespace of the request: the controller names
// none in its revisions.
func (s *apiServer) store(in cache.Indexer, o runtime.Object) (bool, runtime.Object, error) {
	o.(meta.Object).SetNamespace(namespace)
	return true, o, in.Update(o)
}

func (s *apiServer) createPod(p *core.Pod) (bool, runtime.Object, error) {
	if _, exists, _ := s.pods.Get(p); exists {
		return true, nil, apierrors.NewAlreadyExists(core.Resource("pods"), p.Name)
	}
	p = p.DeepCopy()
	p.Status.Phase = core.PodPending
	s.did.created = append(s.did.created, p)
	return s.store(s.pods, p)
}

// deletePod begins the graceful deletion of a pod: the kubelet ends it.
func (s *apiServer) deletePod(name string) error {
	s.did.deleted = append(s.did.deleted, name)
	return s.changePod(name, func(p *core.Pod) {
		if p.DeletionTimestamp == nil {
			p.DeletionTimestamp = &epoch
		}
	})
}

// changePod replaces a pod by a changed copy: caches are never written to.
func (s *apiServer) changePod(name string, change func(*core.Pod)) error {
	o, exists, err := s.pods.GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return apierrors.NewNotFound(core.Resource("pods"), name)
	}
	p := o.(*core.Pod).DeepCopy()
	change(p)
	return s.pods.Update(p)
}

func (s *apiServer) updateStatus(set *apps.StatefulSet) (bool, runtime.Object, error) {
	if s.refusesStatus {
		return true, nil, apierrors.NewInternalError(fmt.Errorf("the status cannot be written"))
	}
	s.did.status = set.Status.DeepCopy()
	return s.store(s.sets, set)
}

// changeSet is a change of the spec by somebody else.
func (s *apiServer) changeSet(change func(*apps.StatefulSet)) {
	set := s.set().DeepCopy()
	change(set)
	set.Generation++
	if err := s.sets.Update(set); err != nil {
		panic(err)
	}
}

func (s *apiServer) set() *apps.StatefulSet {
	return s.sets.List()[0].(*apps.StatefulSet)
}

// podAt gives the pod of an index, nil if there is none.
func (s *apiServer) podAt(i int) *core.Pod {
	o, exists, err := s.pods.GetByKey(namespace + "/" + podName(i))
	if err != nil || !exists {
		return nil
	}
	return o.(*core.Pod)
}

// podsInOrder lists the pods by index: the order of a real cache is random, and
// the controller does not depend on it.
func (s *apiServer) podsInOrder() []*core.Pod {
	var list []*core.Pod
	for i := range statefulset.MostPods {
		if p := s.podAt(i); p != nil {
			list = append(list, p)
		}
	}
	return list
}
