// Package install holds tests of config/knative and config/broker as their users
// install them, on the real Knative Serving and Eventing, webhooks included: the
// function runs only while it is asked (`make test-knative`).
package install
