// Package writer is a client of the rolled cluster: it writes at a steady rate
// and measures what the roll costs it.
package writer
