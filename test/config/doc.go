// Package config tests the folders of config/ on a real API server: that it
// accepts them, that each right in them is needed and its lack is named, what
// the admission policy refuses, and that the commands of the README install.
package config
