package differential

import (
	"strconv"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // the controller encodes sets with the scheme
	_ "k8s.io/kubernetes/pkg/apis/core/install"

	"github.com/etcdroll/etcdroll/test/sim/statefulset"
)

const (
	namespace = "db"
	setName   = "etcd"
)

var epoch = meta.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

func podName(i int) string { return setName + "-" + strconv.Itoa(i) }

// template is the pod template number r; they differ in the image.
func template(r statefulset.Revision) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: meta.ObjectMeta{Labels: map[string]string{"app": setName}},
		Spec:       core.PodSpec{Containers: []core.Container{{Name: "etcd", Image: image(r)}}},
	}
}

func image(r statefulset.Revision) string { return "etcd:" + strconv.Itoa(r) }

// newSet is the set as the API server would store it, defaults included.
func newSet(in *statefulset.Input) *apps.StatefulSet {
	replicas, history := int32(in.Replicas), int32(10)
	set := &apps.StatefulSet{
		ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: setName, UID: "set", Generation: in.Generation},
		Spec: apps.StatefulSetSpec{
			Replicas: &replicas, RevisionHistoryLimit: &history, ServiceName: setName,
			Selector: &meta.LabelSelector{MatchLabels: map[string]string{"app": setName}}, Template: template(in.Template),
			PodManagementPolicy: apps.OrderedReadyPodManagement, UpdateStrategy: strategy(in),
			MinReadySeconds: int32(in.MinReady / time.Second),
		},
	}
	if in.Parallel {
		set.Spec.PodManagementPolicy = apps.ParallelPodManagement
	}
	if in.Deleting {
		set.DeletionTimestamp = &epoch
	}
	legacyscheme.Scheme.Default(set)
	return set
}

func strategy(in *statefulset.Input) apps.StatefulSetUpdateStrategy {
	if in.OnDelete {
		return apps.StatefulSetUpdateStrategy{Type: apps.OnDeleteStatefulSetStrategyType}
	}
	partition, most := int32(in.Partition), intstr.FromInt(in.MaxUnavailable)
	return apps.StatefulSetUpdateStrategy{
		Type:          apps.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &apps.RollingUpdateStatefulSetStrategy{Partition: &partition, MaxUnavailable: &most},
	}
}

// newPod is pod i of a set, nil if there is none.
func newPod(set *apps.StatefulSet, i int, p statefulset.Pod, succeeded bool, now meta.Time) *core.Pod {
	if p.Phase == statefulset.Missing {
		return nil
	}
	pod := &core.Pod{
		ObjectMeta: meta.ObjectMeta{
			Namespace: namespace, Name: podName(i),
			OwnerReferences: []meta.OwnerReference{*meta.NewControllerRef(set, apps.SchemeGroupVersion.WithKind("StatefulSet"))},
			Labels: map[string]string{
				"app": setName, apps.StatefulSetPodNameLabel: podName(i), apps.StatefulSetRevisionLabel: revisionName(p.Revision),
			},
		},
		Spec: template(p.Revision).Spec,
	}
	if p.Terminating {
		pod.DeletionTimestamp = &epoch
	}
	pod.Status.Phase = [...]core.PodPhase{"", core.PodPending, core.PodRunning, core.PodFailed}[p.Phase]
	if succeeded && p.Phase == statefulset.Finished {
		pod.Status.Phase = core.PodSucceeded
	}
	pod.Status.Conditions = []core.PodCondition{readyCondition(p, now)}
	return pod
}

func readyCondition(p statefulset.Pod, now meta.Time) core.PodCondition {
	c := core.PodCondition{Type: core.PodReady, Status: core.ConditionFalse}
	if p.Ready {
		c.Status = core.ConditionTrue
	}
	if p.ReadyFor > 0 {
		c.LastTransitionTime = meta.NewTime(now.Add(-p.ReadyFor))
	}
	return c
}

// newStatus is a status with the model's figures.
func newStatus(s statefulset.Status) apps.StatefulSetStatus {
	return apps.StatefulSetStatus{
		ObservedGeneration: s.ObservedGeneration, CurrentRevision: revisionName(s.CurrentRevision), UpdateRevision: revisionName(s.UpdateRevision),
		Replicas: int32(s.Replicas), ReadyReplicas: int32(s.ReadyReplicas), AvailableReplicas: int32(s.AvailableReplicas),
		CurrentReplicas: int32(s.CurrentReplicas), UpdatedReplicas: int32(s.UpdatedReplicas),
	}
}

// statusOf is a real status in the model's terms.
func statusOf(s *apps.StatefulSetStatus) statefulset.Status {
	return statefulset.Status{
		ObservedGeneration: s.ObservedGeneration, CurrentRevision: revisionNumber(s.CurrentRevision), UpdateRevision: revisionNumber(s.UpdateRevision),
		Replicas: int(s.Replicas), ReadyReplicas: int(s.ReadyReplicas), AvailableReplicas: int(s.AvailableReplicas),
		CurrentReplicas: int(s.CurrentReplicas), UpdatedReplicas: int(s.UpdatedReplicas),
	}
}
