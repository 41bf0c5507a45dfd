// Package access is how the tests themselves get into a cluster that wants
// certificates or users, and the authority that issues the certificates.
package access
