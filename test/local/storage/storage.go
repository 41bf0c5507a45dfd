// Package storage provides persistent volumes of the local cluster: directories
// that outlive pods and go with their claim.
package storage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// ClassName is the storage class; it is the cluster's default.
const ClassName = "local-dir"

const provisionedBy = "pv.kubernetes.io/provisioned-by"
const provisionerName = "etcdroll.dev/local-dir"

// Provisioner makes a volume for every claim of its class.
type Provisioner struct {
	client kubernetes.Interface
	dir    string
	claims cache.SharedIndexInformer
	pvs    cache.SharedIndexInformer
	queue  workqueue.TypedRateLimitingInterface[string] // "claim/NAMESPACE/NAME" or "volume/NAME"
}

// New prepares a provisioner that keeps volumes below dir.
func New(client kubernetes.Interface, shared informers.SharedInformerFactory, dir string) *Provisioner {
	p := &Provisioner{
		client: client, dir: dir,
		claims: shared.Core().V1().PersistentVolumeClaims().Informer(),
		pvs:    shared.Core().V1().PersistentVolumes().Informer(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, time.Second)),
	}
	enqueue := func(kind string) cache.ResourceEventHandlerFuncs {
		add := func(obj any) {
			if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
				p.queue.Add(kind + "/" + key)
			}
		}
		return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, now any) { add(now) }}
	}
	_, _ = p.claims.AddEventHandler(enqueue("claim"))
	_, _ = p.pvs.AddEventHandler(enqueue("volume"))
	return p
}

// Run works until the context ends.
func (p *Provisioner) Run(ctx context.Context) {
	go func() {
		<-ctx.Done()
		p.queue.ShutDown()
	}()
	for ctx.Err() == nil && p.ensureClass(ctx) != nil {
		time.Sleep(200 * time.Millisecond)
	}
	for {
		key, shutdown := p.queue.Get()
		if shutdown {
			return
		}
		if err := p.sync(ctx, key); err != nil {
			p.queue.AddRateLimited(key)
		} else {
			p.queue.Forget(key)
		}
		p.queue.Done(key)
	}
}

func (p *Provisioner) ensureClass(ctx context.Context) error {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	_, err := p.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: ClassName, Annotations: map[string]string{
			"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: provisionerName, ReclaimPolicy: &reclaim, VolumeBindingMode: &binding,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (p *Provisioner) sync(ctx context.Context, key string) error {
	kind, name, _ := strings.Cut(key, "/")
	if kind == "claim" {
		obj, found, err := p.claims.GetStore().GetByKey(name)
		if err != nil || !found {
			return err
		}
		return p.provision(ctx, obj.(*corev1.PersistentVolumeClaim))
	}
	obj, found, err := p.pvs.GetStore().GetByKey(name)
	if err != nil || !found {
		return err
	}
	return p.reclaim(ctx, obj.(*corev1.PersistentVolume))
}

// provision creates a volume that is reserved for this claim; the
// control plane's binder does the rest.
func (p *Provisioner) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	class := claim.Spec.StorageClassName
	if claim.Spec.VolumeName != "" || class != nil && *class != ClassName && *class != "" {
		return nil
	}
	name := "local-" + string(claim.UID)
	dir := filepath.Join(p.dir, fmt.Sprintf("%s_%s_%s", claim.Namespace, claim.Name, claim.UID))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: provisionerName}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		},
	}
	if class != nil {
		pv.Spec.StorageClassName = *class
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// reclaim deletes a volume of ours, and its directory, once its claim is gone.
func (p *Provisioner) reclaim(ctx context.Context, pv *corev1.PersistentVolume) error {
	if pv.Annotations[provisionedBy] != provisionerName || pv.Status.Phase != corev1.VolumeReleased ||
		pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || pv.Spec.HostPath == nil {
		return nil
	}
	if filepath.Dir(pv.Spec.HostPath.Path) != p.dir {
		return nil // never remove a directory that this provisioner did not make
	}
	if err := os.RemoveAll(pv.Spec.HostPath.Path); err != nil {
		return err
	}
	err := p.client.CoreV1().PersistentVolumes().Delete(ctx, pv.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Directory implements volume.Claims.
func (p *Provisioner) Directory(_ context.Context, pod *corev1.Pod, claim string) (string, error) {
	obj, found, err := p.claims.GetStore().GetByKey(pod.Namespace + "/" + claim)
	if err != nil || !found {
		return "", fmt.Errorf("claim %s is not there", claim)
	}
	pvc := obj.(*corev1.PersistentVolumeClaim)
	if pvc.Status.Phase != corev1.ClaimBound {
		return "", fmt.Errorf("claim %s is not bound", claim)
	}
	obj, found, err = p.pvs.GetStore().GetByKey(pvc.Spec.VolumeName)
	if err != nil || !found {
		return "", fmt.Errorf("volume %s is not there", pvc.Spec.VolumeName)
	}
	pv := obj.(*corev1.PersistentVolume)
	if pv.Spec.HostPath == nil || filepath.Dir(pv.Spec.HostPath.Path) != p.dir {
		return "", fmt.Errorf("volume %s is not one of the local cluster", pv.Name)
	}
	return pv.Spec.HostPath.Path, nil
}
