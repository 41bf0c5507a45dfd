module github.com/etcdroll/etcdroll/test/pulumi/build

go 1.26.0

// The builder of Pulumi's programs for `make test-pulumi`: that of the local
// cluster, with three modules of its own.
replace github.com/etcdroll/etcdroll/test/local => ../../local

require github.com/etcdroll/etcdroll/test/local v0.0.0

require golang.org/x/sys v0.48.0 // indirect
