package trigger

import "iter"

// heldSets and heldPods go through what the cache holds: object and resource version.
func (c *Cache) heldSets() iter.Seq2[string, string] { return c.held((*inventory).setVersions) }

func (c *Cache) heldPods() iter.Seq2[string, string] { return c.held((*inventory).podVersions) }

func (c *Cache) held(of func(*inventory, func(object, version string) bool) bool) iter.Seq2[string, string] {
	return func(yield func(object, version string) bool) {
		for _, stock := range c.stock {
			if !of(stock, yield) {
				return
			}
		}
	}
}

// setOfPod finds the managed set whose pod this is by the name, since the cache may lack the pod.
func (c *Cache) setOfPod(pod string) string {
	key, _, ok := placeOf(pod)
	if !ok {
		return ""
	}
	if _, _, ok := c.Look(key); !ok {
		return ""
	}
	return key
}
