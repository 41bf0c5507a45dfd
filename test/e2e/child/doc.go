// Package child runs programs as children that never outlive this process,
// however it ends, each in a process group of its own.
package child
