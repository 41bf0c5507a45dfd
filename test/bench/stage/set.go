package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/pkg/events"
	"github.com/etcdroll/etcdroll/test/e2e/etcdset"
	"github.com/etcdroll/etcdroll/test/e2e/observer"
)

const (
	graceless  = "graceless"
	graceMap   = "grace"
	graceMount = "/etc/bench"
	rollVar    = "ROLL" // an environment variable that etcd ignores
	editor     = "bench"
)

func (s *Stage) createSet(ctx context.Context, _ string) (err error) {
	namespace := s.direct.Namespace
	_, err = s.cluster.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: graceMap}, Data: map[string]string{graceMap: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	config := map[string]any{"cooldownSeconds": int(s.Cooldown.Seconds())} // all else as by default
	s.set, err = etcdset.Create(ctx, s.cluster.Client, etcdset.Options{
		Namespace: namespace, Replicas: s.Members, Version: s.Version, Config: config, Shape: s.shape})
	if err != nil {
		return err
	}
	if err := s.watch(ctx); err != nil {
		return err
	}
	defer s.observer.Stop()
	if err := s.observer.Until(ctx, formsWithin, "the set has not formed", observer.View.AllUp); err != nil {
		return err
	}
	s.script, err = s.newScript(ctx)
	return err
}

// watch begins to observe the set, from now until the observer is stopped.
func (s *Stage) watch(ctx context.Context) (err error) {
	s.observer, err = observer.Start(ctx, s.cluster.Client, s.set.Namespace, s.set.Name)
	return err
}

// shape lets the first process of each container decide how etcd ends.
func (s *Stage) shape(set *appsv1.StatefulSet) {
	spec := &set.Spec.Template.Spec
	etcd := &spec.Containers[0]
	etcd.Image = s.image()
	etcd.Command = []string{graceless, graceMount + "/" + graceMap, "/usr/local/bin/etcd"}
	etcd.Env = append(etcd.Env, corev1.EnvVar{Name: rollVar, Value: "0"})
	etcd.VolumeMounts = append(etcd.VolumeMounts, corev1.VolumeMount{Name: graceMap, MountPath: graceMount, ReadOnly: true})
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: graceMap, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: graceMap}}}})
}

// patch changes the set as its owner, in one write.
func (s *Stage) patch(ctx context.Context, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = s.cluster.Client.AppsV1().StatefulSets(s.set.Namespace).Patch(ctx, s.set.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: editor})
	if err != nil {
		return fmt.Errorf("change the set: %w", err)
	}
	return nil
}

// changeTemplate is the measured change: a variable that etcd ignores, and the
// readiness probe or none.
func (s *Stage) changeTemplate(ctx context.Context, probe bool) error {
	s.rolls++
	container := map[string]any{"name": "etcd", "env": []any{map[string]any{"name": rollVar, "value": fmt.Sprint(s.rolls)}}, "readinessProbe": nil}
	if probe {
		container["readinessProbe"] = etcdset.Probe()
	}
	return s.patch(ctx, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}})
}

// hand gives the set to a variant, without touching a pod.
func (s *Stage) hand(ctx context.Context, v Variant) error {
	strategy := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": v.partition(s.Members)}}
	if v.onDelete {
		strategy = map[string]any{"type": "OnDelete", "rollingUpdate": nil}
	}
	labels := map[string]any{events.LabelManaged: nil}
	if v.etcdroll {
		labels[events.LabelManaged] = "true"
	}
	if err := s.patch(ctx, map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"updateStrategy": strategy}}); err != nil {
		return err
	}
	return s.observer.Until(ctx, formsWithin, "the set is not in order before the run", func(view observer.View) bool {
		return view.AllUp() && view.AllOnTarget() && (v.onDelete || view.Set.Current == view.Set.Update)
	})
}

// grace says how members end from now on.
func (s *Stage) grace(ctx context.Context, lost bool) error {
	text := "kept"
	if lost {
		text = "lost"
	}
	patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, graceMap, text)
	_, err := s.cluster.Client.CoreV1().ConfigMaps(s.set.Namespace).Patch(ctx, graceMap, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: editor})
	return err
}

// clean removes what earlier runs wrote, so that no run has a larger store than
// another, and so that only this run's writes can be read back.
func (s *Stage) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return s.withClient(ctx, func(c *clientv3.Client) error {
		gone, err := c.Delete(ctx, "/", clientv3.WithPrefix())
		if err != nil {
			return err
		}
		_, err = c.Compact(ctx, gone.Header.Revision, clientv3.WithCompactPhysical())
		if errors.Is(err, rpctypes.ErrCompacted) {
			return nil // nothing was written since the last time
		}
		return err
	})
}

func (s *Stage) withClient(ctx context.Context, do func(*clientv3.Client) error) error {
	endpoints, err := s.endpoints(ctx)
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 5 * time.Second})
	if err != nil {
		return err
	}
	return errors.Join(do(client), client.Close())
}

func (s *Stage) endpoints(ctx context.Context) ([]string, error) {
	byIndex, err := s.set.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	var list []string
	for i := range s.Members {
		list = append(list, byIndex[i])
	}
	return list, nil
}

// agreed waits until every member answers and all name the same leader, or the
// one with that index, if it is not negative.
func (s *Stage) agreed(ctx context.Context, leader int) error {
	for deadline := time.Now().Add(formsWithin); ; {
		if now, ok := s.leader(); ok && (leader < 0 || now == leader) {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the members do not all answer and agree on the leader")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// leader is whom every member names, as last seen.
func (s *Stage) leader() (index int, agreed bool) {
	named, term := uint64(0), uint64(0)
	index = -1
	for i := range s.Members {
		m, answers := s.observer.Member(i)
		if !answers || m.Leader == 0 || named != 0 && (m.Leader != named || m.Term != term) {
			return -1, false
		}
		named, term = m.Leader, m.Term
		if m.ID == m.Leader {
			index = i
		}
	}
	return index, index >= 0
}
