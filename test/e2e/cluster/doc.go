// Package cluster gives the tests and the demo a Kubernetes cluster: one that
// is already there, or a local one that lives as long as this process.
package cluster
