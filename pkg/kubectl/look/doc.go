// Package look is a set as people see it: what the objects and, where they
// were asked, the members tell, in words and figures ready to be printed. It
// reads nothing and decides nothing.
package look
