// Package gitops runs the recipes of config/gitops and the commands of the
// documents on the local cluster. The engines that tools evaluate the recipes
// with are in engines, a module of its own. The objects in testdata were
// recorded here, by
//
//	go test ./test/gitops -run TestRecorded -args -record
package gitops
