package trigger

import (
	"slices"
	"strconv"
	"sync"
)

// inventory is what is known of one scope: the managed sets, and below the name of each StatefulSet the pods that it
// controls. It keeps what is judged and nothing else, each text once: at ten thousand sets, client-go's own stores of
// stripped objects would hold five times as much.
type inventory struct {
	mu      sync.RWMutex
	entries map[string]*entry // by "namespace/name" of the set
}

type entry struct {
	set     *SetView // nil: there is no managed set by this name
	version string
	pods    []heldPod
}

// heldPod is a pod below its set. Its name is the set's and its ordinal.
type heldPod struct {
	uid, owner, revision, version string
	ordinal                       int32
	terminating                   bool
}

// differs says whether two states of a pod would be judged differently. A kubelet's many status updates are none.
func (p heldPod) differs(q heldPod) bool {
	p.version = q.version
	return p != q
}

func newInventory() *inventory { return &inventory{entries: map[string]*entry{}} }

func (i *inventory) entry(key string) *entry {
	e := i.entries[key]
	if e == nil {
		e = &entry{}
		i.entries[key] = e
	}
	return e
}

func (i *inventory) tidy(key string) {
	if e := i.entries[key]; e != nil && e.set == nil && len(e.pods) == 0 {
		delete(i.entries, key)
	}
}

// putSet is false if nothing has changed that is judged.
func (i *inventory) putSet(set *strippedSet) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	e := i.entry(set.view.Key())
	e.version = set.version
	if e.set != nil && *e.set == set.view {
		return false
	}
	view := set.view // a copy, so that the rest can go
	e.set = &view
	return true
}

func (i *inventory) dropSet(set *strippedSet) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := set.view.Key()
	e := i.entries[key]
	if e == nil || e.set == nil {
		return false
	}
	e.set, e.version = nil, ""
	i.tidy(key)
	return true
}

// replaceSets makes the list all there is, and names the sets that this changed.
func (i *inventory) replaceSets(list []*strippedSet) (changed []string) {
	listed := make(map[string]struct{}, len(list))
	for _, set := range list {
		key := set.view.Key()
		listed[key] = struct{}{}
		if i.putSet(set) {
			changed = append(changed, key)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for key, e := range i.entries {
		if _, still := listed[key]; e.set != nil && !still {
			e.set, e.version = nil, ""
			i.tidy(key)
			changed = append(changed, key)
		}
	}
	return changed
}

// putPod is false if nothing has changed that is judged.
func (i *inventory) putPod(pod *strippedPod) bool {
	if !pod.owned {
		return i.dropPod(pod)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hold(pod)
}

// hold puts a pod below its set. The caller has locked the inventory.
func (i *inventory) hold(pod *strippedPod) bool {
	e := i.entry(pod.set)
	held := e.share(pod.held)
	at := e.find(held.ordinal)
	if at < 0 {
		// To the exact size: sets are many, and grow rarely.
		e.pods = append(append(make([]heldPod, 0, len(e.pods)+1), e.pods...), held)
		return true
	}
	before := e.pods[at]
	e.pods[at] = held
	return held.differs(before)
}

func (i *inventory) dropPod(pod *strippedPod) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	e := i.entries[pod.set]
	if e == nil {
		return false
	}
	at := e.find(pod.held.ordinal)
	if at < 0 {
		return false
	}
	e.pods = slices.Delete(e.pods, at, at+1)
	i.tidy(pod.set)
	return true
}

// replacePods makes the list all there is, and names the sets whose pods this changed. Nobody may look meanwhile: a set
// without its pods has nothing to disrupt, and would need no place in the fleet.
func (i *inventory) replacePods(list []*strippedPod) (changed []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.takePods()
	for _, pod := range list {
		if pod.owned {
			i.hold(pod)
		}
	}
	for key, e := range i.entries {
		if !samePods(before[key], e.pods) {
			changed = append(changed, key)
		}
		i.tidy(key)
	}
	return changed
}

func (i *inventory) takePods() map[string][]heldPod {
	taken := map[string][]heldPod{}
	for key, e := range i.entries {
		if len(e.pods) > 0 {
			taken[key], e.pods = e.pods, nil
		}
	}
	return taken
}

func samePods(before, now []heldPod) bool {
	return len(before) == len(now) && !slices.ContainsFunc(now, func(pod heldPod) bool {
		return !slices.ContainsFunc(before, func(old heldPod) bool { return !pod.differs(old) })
	})
}

// share uses the texts that the entry has already: all pods of a set have the same owner and mostly one revision.
func (e *entry) share(pod heldPod) heldPod {
	if e.set != nil {
		pod.owner, pod.revision = same(pod.owner, e.set.UID), same(pod.revision, e.set.UpdateRevision)
	}
	for _, sibling := range e.pods {
		pod.owner, pod.revision = same(pod.owner, sibling.owner), same(pod.revision, sibling.revision)
	}
	return pod
}

func same(text, held string) string {
	if text == held {
		return held
	}
	return text
}

func (e *entry) find(ordinal int32) int {
	return slices.IndexFunc(e.pods, func(p heldPod) bool { return p.ordinal == ordinal })
}

// look gives a managed set, to be read only, and those of its pods that belong to this very set.
func (i *inventory) look(key string) (*SetView, []PodView, bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	e := i.entries[key]
	if e == nil || e.set == nil {
		return nil, nil, false
	}
	pods := make([]PodView, 0, len(e.pods))
	for _, pod := range e.pods {
		if pod.owner == e.set.UID {
			pods = append(pods, PodView{
				UID: pod.uid, Index: pod.ordinal - e.set.OrdinalsStart, Revision: pod.revision, Terminating: pod.terminating,
			})
		}
	}
	return e.set, pods, e.set.Managed
}

func (i *inventory) keys() (keys []string) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for key, e := range i.entries {
		if e.set != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// setVersions and podVersions are what is held, object and resource version; nothing may be changed meanwhile. They are
// false if yield was.
func (i *inventory) setVersions(yield func(object, version string) bool) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for key, e := range i.entries {
		if e.set != nil && !yield(key, e.version) {
			return false
		}
	}
	return true
}

func (i *inventory) podVersions(yield func(object, version string) bool) bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for key, e := range i.entries {
		for _, pod := range e.pods {
			if !yield(key+"-"+strconv.Itoa(int(pod.ordinal)), pod.version) {
				return false
			}
		}
	}
	return true
}
