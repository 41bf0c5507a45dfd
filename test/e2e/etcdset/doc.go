// Package etcdset makes etcd clusters that run as plain StatefulSets, and plays
// their owner: the one who applies manifests and changes templates.
package etcdset
