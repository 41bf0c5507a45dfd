// Package events is the vocabulary that the parts of etcdroll, the people who use it and the tools around it share:
// every label, annotation and CloudEvent type (keys.go), the payloads and their JSON schemas, and the way events are
// built, read, sent and answered.
//
// An event is a hint and never a command. [Parse] keeps of it the name of one StatefulSet and, where the type says so,
// the sequence number of a continuation or the id of a halt; everything else in it is for people and dashboards. So a
// forged, duplicated, late or lost event can make somebody look once too often or once too late, and nothing else.
//
// The package imports no other package of etcdroll.
package events
