package trigger

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/etcdroll/etcdroll/pkg/events"
)

// stripSet leaves of a set what viewOfSet reads. The template alone would be nine tenths of the cache.
func stripSet(obj any) (any, error) {
	set, ok := obj.(*appsv1.StatefulSet)
	if !ok {
		return obj, nil
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: set.Name, UID: set.UID, ResourceVersion: set.ResourceVersion,
			Generation: set.Generation, DeletionTimestamp: set.DeletionTimestamp,
			Labels:        keepPrefixed(set.Labels),
			Annotations:   keepPrefixed(set.Annotations),
			ManagedFields: ours(set.ManagedFields),
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: set.Spec.Replicas, Ordinals: set.Spec.Ordinals, UpdateStrategy: set.Spec.UpdateStrategy,
			PodManagementPolicy: set.Spec.PodManagementPolicy,
		},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: set.Status.ObservedGeneration, CurrentRevision: set.Status.CurrentRevision,
			UpdateRevision: set.Status.UpdateRevision, ReadyReplicas: set.Status.ReadyReplicas,
			AvailableReplicas: set.Status.AvailableReplicas,
		},
	}, nil
}

// stripPod leaves the name, the revision label and the owner. A pod of no set keeps only what the cache needs.
func stripPod(obj any) (any, error) {
	pod, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	kept := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}
	if _, _, owned := ownerSet(pod); !owned {
		return kept, nil
	}
	kept.DeletionTimestamp = pod.DeletionTimestamp
	kept.OwnerReferences = []metav1.OwnerReference{*metav1.GetControllerOf(pod)}
	if revision, ok := pod.Labels[events.PodRevisionLabel]; ok {
		kept.Labels = map[string]string{events.PodRevisionLabel: revision}
	}
	return kept, nil
}

func keepPrefixed(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if strings.HasPrefix(key, events.Prefix) {
			kept[key] = value
		}
	}
	return kept
}

func setHandler(changed func(key string)) cache.ResourceEventHandler {
	tell := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			changed(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }, DeleteFunc: tell}
}

// podHandler tells of pods that came, went, or changed in what is judged. The kubelet's many status updates are none
// of that.
func podHandler(changed func(key string)) cache.ResourceEventHandler {
	tell := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if keys, err := indexBySet(obj); err == nil && len(keys) == 1 {
			changed(keys[0])
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: tell, DeleteFunc: tell,
		UpdateFunc: func(before, now any) {
			if podChanged(before, now) {
				tell(before)
				tell(now)
			}
		},
	}
}

func podChanged(before, now any) bool {
	b, okB := before.(*metav1.PartialObjectMetadata)
	n, okN := now.(*metav1.PartialObjectMetadata)
	if !okB || !okN {
		return true
	}
	nameB, uidB, _ := ownerSet(b)
	nameN, uidN, _ := ownerSet(n)
	return b.UID != n.UID || nameB != nameN || uidB != uidN || (b.DeletionTimestamp == nil) != (n.DeletionTimestamp == nil) ||
		b.Labels[events.PodRevisionLabel] != n.Labels[events.PodRevisionLabel]
}
