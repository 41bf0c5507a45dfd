// Package product builds and runs the programs under test as they are shipped:
// child processes with their own ServiceAccounts, in the direct topology.
package product
