// Package podip gives every pod of the local cluster its loopback address.
package podip

import (
	"fmt"
	"hash/fnv"
)

// For returns the IPv4 loopback address of the pod with this namespace and
// name. It is a pure function of the two, so that a manifest can name its peers
// before any of them exists. Addresses lie in 127.16.0.0 - 127.127.255.254 and
// never end in 0 or 255. Two names may share an address (one in seven million);
// the node agent refuses to run both at once.
func For(namespace, name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(namespace + "/" + name))
	n := h.Sum32() % (112 * 256 * 254)
	return fmt.Sprintf("127.%d.%d.%d", 16+n/(256*254), n/254%256, 1+n%254)
}
