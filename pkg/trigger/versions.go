package trigger

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// versions lists what the informers hold: object to resource version.
func versions(informers map[string]cache.SharedIndexInformer) map[string]string {
	held := map[string]string{}
	for _, informer := range informers {
		for _, obj := range informer.GetIndexer().List() {
			if object, err := meta.Accessor(obj); err == nil {
				held[object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
			}
		}
	}
	return held
}

// setOfPod finds the managed set whose pod this is by the name, since the cache may lack the pod.
func (c *Cache) setOfPod(pod string) string {
	at := strings.LastIndex(pod, "-")
	if at < 0 {
		return ""
	}
	key := pod[:at]
	if _, _, ok := c.Look(key); !ok {
		return ""
	}
	return key
}
