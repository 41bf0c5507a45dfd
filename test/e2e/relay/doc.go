// Package relay stands between the trigger and the function and does to events
// what networks and brokers do: repeats, loses and delays them.
package relay
