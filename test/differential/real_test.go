package differential

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apps "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes/fake"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/history"
	kubernetes "k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/util/consistency"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

// templates is how many different templates there are.
const templates = 4

// real is the controller's own code on an API server of its own.
type real struct {
	apiServer
	control kubernetes.StatefulSetControlInterface
}

func newReal() *real {
	r := &real{apiServer: apiServer{sets: newStore(), pods: newStore(), claims: newStore(), revisions: newStore()}}
	client := &fake.Clientset{}
	client.AddReactor("*", "*", r.react)
	at := &consistency.NoopConsistencyStore{} // its caches are never behind
	pods := kubernetes.NewStatefulPodControl(client, corelisters.NewPodLister(r.pods), corelisters.NewPersistentVolumeClaimLister(r.claims), &record.FakeRecorder{}, at)
	status := kubernetes.NewRealStatefulSetStatusUpdater(client, appslisters.NewStatefulSetLister(r.sets), at)
	revisions := history.NewHistory(client, appslisters.NewControllerRevisionLister(r.revisions), nil)
	r.control = kubernetes.NewDefaultStatefulSetControl(pods, status, revisions)
	return r
}

var quiet = klog.NewContext(context.Background(), logr.Discard())

// sync is one sync of the real controller.
func (r *real) sync(now time.Time) (*apps.StatefulSetStatus, error) {
	r.did = deeds{}
	return r.control.UpdateStatefulSet(quiet, r.set(), r.podsInOrder(), now)
}

// knownRevisions are the revisions that the templates make, made by the
// controller itself.
var knownRevisions = sync.OnceValue(func() []*apps.ControllerRevision {
	r := newReal()
	var made []*apps.ControllerRevision
	for t := range templates {
		set := newSet(&statefulset.Input{Generation: int64(t + 1), Template: t, MaxUnavailable: 1})
		if err := r.sets.Update(set); err != nil {
			panic(err)
		}
		status, err := r.sync(epoch.Time)
		if err != nil {
			panic(err)
		}
		o, _, err := r.revisions.GetByKey(namespace + "/" + status.UpdateRevision)
		if err != nil {
			panic(err)
		}
		made = append(made, o.(*apps.ControllerRevision))
	}
	return made
})

func revisionName(r statefulset.Revision) string {
	if r == statefulset.Unset {
		return ""
	}
	return knownRevisions()[r].Name
}

// unknown is a revision that no template makes.
const unknown statefulset.Revision = -2

func revisionNumber(name string) statefulset.Revision {
	if name == "" {
		return statefulset.Unset
	}
	for r, known := range knownRevisions() {
		if known.Name == name {
			return r
		}
	}
	return unknown
}

// outcome is what a sync came to, on either side.
type outcome struct {
	Creates [statefulset.MostPods]statefulset.Revision
	Deletes [statefulset.MostPods]int // requests
	Status  statefulset.Status
	Writes  bool // the status
	Problem string
}

// outcomeOf says what the real sync came to.
func (r *real) outcomeOf(status *apps.StatefulSetStatus, err error) outcome {
	var o outcome
	for i := range o.Creates {
		o.Creates[i] = statefulset.Unset
		for _, name := range r.did.deleted {
			if name == podName(i) {
				o.Deletes[i]++
			}
		}
	}
	for _, p := range r.did.created {
		for i := range o.Creates {
			if p.Name == podName(i) {
				o.Creates[i] = revisionNumber(p.Labels[apps.StatefulSetRevisionLabel])
			}
		}
		if r := revisionNumber(p.Labels[apps.StatefulSetRevisionLabel]); p.Spec.Containers[0].Image != image(r) {
			o.Problem = fmt.Sprintf("%s says revision %d and runs %s", p.Name, r, p.Spec.Containers[0].Image)
		}
	}
	if err != nil {
		o.Problem = err.Error()
		return o
	}
	o.Status, o.Writes = statusOf(status), r.did.status != nil
	if o.Writes && statusOf(r.did.status) != o.Status {
		o.Problem = "the status it wrote is not the one it says"
	}
	return o
}
