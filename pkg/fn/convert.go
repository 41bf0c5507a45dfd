package fn

import (
	"strings"
	"time"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/pkg/guard"
)

// toSet reduces a StatefulSet to what decides. Of its status only the
// revisions, the observed generation and the number of pods are taken: its
// counters lag and count terminating pods as ready.
func toSet(set *appsv1.StatefulSet) guard.Set {
	s := guard.Set{
		Namespace: set.Namespace, Name: set.Name, UID: string(set.UID),
		Managed:            set.Labels[events.LabelManaged] == "true",
		Deleting:           set.DeletionTimestamp != nil,
		Generation:         set.Generation,
		ObservedGeneration: set.Status.ObservedGeneration,
		Strategy:           toStrategy(set.Spec.UpdateStrategy.Type),
		Management:         toManagement(set.Spec.PodManagementPolicy),
		Replicas:           replicas(set),
		StatusReplicas:     int(set.Status.Replicas),
		Partition:          partition(set),
		MinReady:           time.Duration(set.Spec.MinReadySeconds) * time.Second,
		CurrentRevision:    set.Status.CurrentRevision,
		UpdateRevision:     set.Status.UpdateRevision,
	}
	s.MaxUnavailable = maxUnavailable(set, s.Replicas)
	if o := set.Spec.Ordinals; o != nil {
		s.FirstOrdinal = int(o.Start)
	}
	return s
}

func toStrategy(t appsv1.StatefulSetUpdateStrategyType) guard.Strategy {
	switch t {
	case "", appsv1.RollingUpdateStatefulSetStrategyType:
		return guard.RollingUpdate
	case appsv1.OnDeleteStatefulSetStrategyType:
		return guard.OnDelete
	}
	return guard.StrategyUnknown
}

func toManagement(p appsv1.PodManagementPolicyType) guard.Management {
	switch p {
	case "", appsv1.OrderedReadyPodManagement:
		return guard.OrderedReady
	case appsv1.ParallelPodManagement:
		return guard.Parallel
	}
	return guard.ManagementUnknown
}

// replicas is what the set wants; unset is one, as the API server defaults.
func replicas(set *appsv1.StatefulSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(*set.Spec.Replicas)
}

func partition(set *appsv1.StatefulSet) int {
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		return int(*r.Partition)
	}
	return 0
}

// maxUnavailable resolves the setting as the StatefulSet controller does:
// unset is one, a percentage is rounded down and never below one. What does
// not resolve is 0, which no gate accepts.
func maxUnavailable(set *appsv1.StatefulSet, replicas int) int {
	r := set.Spec.UpdateStrategy.RollingUpdate
	if r == nil || r.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(r.MaxUnavailable, replicas, false)
	if err != nil || n < 0 {
		return 0
	}
	return max(n, 1)
}

// oneLine makes text from the cluster fit for a message: printable, on one
// line, not longer than most characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar
	}), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return text
}
