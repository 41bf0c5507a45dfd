// Package hold stops a roll and lets it go on: pause before the next member,
// and resume after a pause or a halt.
package hold
