// Package fn is the function that takes one guarded step per event. It reads
// the StatefulSet, its pods and its members live, lets pkg/fn/roll decide,
// writes at most once with the resourceVersion it decided from, makes at most
// one call after that write has won, and answers.
//
// The rooms, in the order a request passes them: handler.go reads the event,
// observe.go reads the world, convert*.go, template.go, config*.go and
// credentials.go turn it into the plain values the decision takes, act.go
// writes, facts.go and kubeevents.go tell what happened, answer.go answers.
// ports.go names what the function needs from outside.
//
// Nothing is kept between two requests: no cache, no connection to a member,
// no certificate.
package fn
