// Package access is how the commands of the plugin get at a cluster: the
// kubeconfig flags, the clients, what a person who runs a command may be told
// when something goes wrong, and the exit codes.
package access
