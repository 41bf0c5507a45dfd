package status

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcdroll/etcdroll/pkg/fn"
	"github.com/etcdroll/etcdroll/pkg/guard"
	"github.com/etcdroll/etcdroll/pkg/kubectl/access"
	"github.com/etcdroll/etcdroll/pkg/kubectl/look"
)

// view is one set as last seen, put together from what was read at different
// times: the set by the watch, the pods when the set changed, the members in
// the background.
type view struct {
	cluster *access.Cluster
	set     *appsv1.StatefulSet
	pods    []*corev1.Pod // by index
	answer  answer
	trouble error
}

// readPods lists the pods, all in one call.
func (v *view) readPods(ctx context.Context) error {
	selector, err := metav1.LabelSelectorAsSelector(v.set.Spec.Selector)
	if err != nil {
		return fmt.Errorf("selector of statefulset %s: %w", v.set.Name, err)
	}
	list, err := v.cluster.Client.CoreV1().Pods(v.set.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return access.Remedied("list pods in namespace "+v.set.Namespace, err)
	}
	byName := map[string]*corev1.Pod{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	shape := fn.Read(v.set, nil, v.now()).Set
	v.pods = make([]*corev1.Pod, max(0, min(shape.Replicas, guard.MaxReplicas)))
	for i := range v.pods {
		v.pods[i] = byName[shape.PodName(i)]
	}
	return nil
}

// now is the API server's clock, as far as it is known.
func (v *view) now() time.Time { return v.cluster.Clock().Add(v.answer.skew) }

// take notes what the members said.
func (v *view) take(a answer) { v.answer = a }

// look is the picture of what was last seen.
func (v *view) look() look.Set {
	f := look.Facts{Object: v.set, Observed: fn.Read(v.set, v.pods, v.now()), Pods: true}
	v.answer.into(&f.Observed)
	if f.Observed.Set.Managed && v.answer.problem != "" {
		f.Notes = append(f.Notes, v.answer.problem)
	}
	if !f.Observed.Set.Managed {
		f.Notes = append(f.Notes, "not managed by etcdroll; see kubectl etcdroll adopt --help")
	}
	if v.trouble != nil {
		f.Notes = append(f.Notes, "this may be old, the watch is interrupted: "+access.OneLine(v.trouble))
	}
	return look.At(f)
}

// identity tells pods apart that are asked differently.
func (v *view) identity() string {
	text := fmt.Sprint(v.set.Generation, v.set.Annotations["etcdroll.dev/config"])
	for _, p := range v.pods {
		if p != nil {
			text += " " + string(p.UID) + " " + p.Status.PodIP
		}
	}
	return text
}
