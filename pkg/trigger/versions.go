package trigger

// heldSets and heldPods list what the cache holds: object to resource version.
func (c *Cache) heldSets() map[string]string {
	held := map[string]string{}
	for _, stock := range c.stock {
		stock.setVersions(held)
	}
	return held
}

func (c *Cache) heldPods() map[string]string {
	held := map[string]string{}
	for _, stock := range c.stock {
		stock.podVersions(held)
	}
	return held
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
