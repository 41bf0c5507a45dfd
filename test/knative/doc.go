// Package knative holds tests of config/broker and config/knative on the real
// Knative Eventing (`make test-knative`).
package knative
