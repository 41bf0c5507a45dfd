package main

import (
	"fmt"
	"strings"
)

// results are all that the page tells.
type results struct {
	Machine, Commit, Software string
	Chapters                  []chapter
	Profile                   profile
}

// chapter is a part of the figures that were taken in one way.
type chapter struct {
	title, how string
	figures    []figure
}

const head = `# What the function costs

<!-- Written by make bench-footprint; do not edit. -->

The function and the trigger as they are shipped, with the rights of config/rbac, on the local cluster with the real
control plane and real etcd members. Everything runs on one machine, control plane, members and bench included, so that
times are upper bounds. MiB is 2^20 bytes.

`

const sitesHead = `
The functions that allocate most, with what they allocate themselves in one step, of the %d bytes that are the
function's own (the others are of the benchmark and those who play API server and etcd):

| | bytes | |
|---|---|---|
`

// render writes the page. It is pure.
func render(r results) string {
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "Machine: %s. %s. Measured at commit %s.\n\n", r.Machine, r.Software, r.Commit)
	b.WriteString("## Targets\n\n| | target | measured | |\n|---|---|---|---|\n")
	for _, c := range r.Chapters {
		for _, f := range c.figures {
			if f.bar != "" {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.what, f.bar, f.measured, f.verdict())
			}
		}
	}
	for _, c := range r.Chapters {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| | measured |\n|---|---|\n", c.title, c.how)
		for _, f := range c.figures {
			fmt.Fprintf(&b, "| %s | %s |\n", f.what, f.measured)
		}
	}
	r.Profile.render(&b)
	return b.String()
}

func (f figure) verdict() string {
	if f.met {
		return "met"
	}
	return "**missed**"
}

// render continues the last chapter.
func (p profile) render(b *strings.Builder) {
	fmt.Fprintf(b, sitesHead, p.Own)
	for _, s := range p.Sites {
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", s.Name, s.Bytes, share(s.Bytes, p.Own))
	}
}

func share(part, whole int64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// figures of the benchmark itself.
func (p profile) figures() []figure {
	return []figure{
		plain("time of one step without API server and etcd", fmt.Sprintf("%d µs", p.Took.Microseconds())),
		plain("bytes allocated, played API server included", fmt.Sprint(p.Bytes)),
		plain("allocations, played API server included", fmt.Sprint(p.Allocs)),
		plain("bytes allocated by the function alone", fmt.Sprint(p.Own)),
	}
}
