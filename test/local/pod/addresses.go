package pod

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcdroll/etcdroll/test/local/podip"
)

// Addresses hands out pod addresses and sees to it that no two live pods share one.
type Addresses struct {
	mu    sync.Mutex
	owner map[string]claim
}

type claim struct {
	uid  types.UID
	name string
}

// Claim returns the pod's address, or an error while another live pod has it.
func (a *Addresses) Claim(namespace, name string, uid types.UID) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owner == nil {
		a.owner = map[string]claim{}
	}
	ip := podip.For(namespace, name)
	if held, taken := a.owner[ip]; taken && held.uid != uid {
		return "", fmt.Errorf("address %s is in use by pod %s: two names share it, rename one", ip, held.name)
	}
	a.owner[ip] = claim{uid: uid, name: namespace + "/" + name}
	return ip, nil
}

// Release gives an address back if this pod holds it.
func (a *Addresses) Release(ip string, uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owner[ip].uid == uid {
		delete(a.owner, ip)
	}
}
