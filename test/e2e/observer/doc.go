// Package observer watches a roll from outside and says what happened. It
// shares no code with the product's decisions and believes none of its claims:
// sets and pods come from watch events in the order of their resourceVersions,
// leaders and terms from asking every member many times a second. Of the
// product's own record it reads one thing, the announcement of a leader move,
// because that announcement is what makes an election a planned one.
package observer
