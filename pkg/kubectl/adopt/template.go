package adopt

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/guard"
)

// template finds what the gates do not ask: what makes a member's health
// visible to Kubernetes, and who else may take members down.
func template(set *appsv1.StatefulSet, budget guard.Budget) []Finding {
	var list []Finding
	etcd := container(set)
	if etcd.ReadinessProbe == nil {
		list = append(list, Finding{Warn, fmt.Sprintf("container %s has no readinessProbe: a pod counts as Ready as soon as it runs", etcd.Name), "add one on /health?serializable=true"})
	}
	if p := etcd.ReadinessProbe; p != nil && needsQuorum(p) && set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		list = append(list, Finding{Note, fmt.Sprintf("the readinessProbe of container %s needs a quorum: under OrderedReady a new set does not form with it", etcd.Name), "ask /health?serializable=true or /readyz"})
	}
	if p := etcd.LivenessProbe; p != nil && needsQuorum(p) {
		list = append(list, Finding{Warn, fmt.Sprintf("the livenessProbe of container %s needs a quorum: members that have lost it are restarted on top", etcd.Name), "ask /health?serializable=true or /livez"})
	}
	if budget.Read == guard.Yes && !budget.Found {
		list = append(list, Finding{Warn, "no PodDisruptionBudget selects the pods: a drain may take a member down while etcdroll has another", budgetCommand(set)})
	}
	if budget.Read != guard.Yes {
		list = append(list, Finding{Note, "whether a PodDisruptionBudget selects the pods could not be read with your rights", ""})
	}
	return list
}

// budgetCommand keeps two members from being evicted at once.
func budgetCommand(set *appsv1.StatefulSet) string {
	return fmt.Sprintf("kubectl -n %s create poddisruptionbudget %s --max-unavailable=1 --selector='%s'", set.Namespace, set.Name, metav1.FormatLabelSelector(set.Spec.Selector))
}

// container is the one that is named etcd, else the first.
func container(set *appsv1.StatefulSet) corev1.Container {
	containers := set.Spec.Template.Spec.Containers
	for _, c := range containers {
		if c.Name == "etcd" {
			return c
		}
	}
	if len(containers) == 0 {
		return corev1.Container{}
	}
	return containers[0]
}

// needsQuorum says that the probe fails while there is no leader.
func needsQuorum(p *corev1.Probe) bool {
	switch {
	case p.HTTPGet != nil:
		return strings.HasPrefix(p.HTTPGet.Path, "/health") && !strings.Contains(p.HTTPGet.Path, "serializable=true")
	case p.Exec != nil:
		return strings.Contains(strings.Join(p.Exec.Command, " "), "endpoint health")
	}
	return false
}
