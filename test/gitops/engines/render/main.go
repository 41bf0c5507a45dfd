// Command render prints what `helm upgrade` renders of a chart. It uses Helm's
// own engine.
//
//	go run ./render CHART RELEASE NAMESPACE [VALUES-FILE]
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	out, err := render(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(out)
}

func render(args []string) (string, error) {
	if len(args) < 3 || len(args) > 4 {
		return "", fmt.Errorf("usage: render CHART RELEASE NAMESPACE [VALUES-FILE]")
	}
	chart, err := loader.Load(args[0])
	if err != nil {
		return "", err
	}
	values := chartutil.Values{}
	if len(args) == 4 {
		if values, err = chartutil.ReadValuesFile(args[3]); err != nil {
			return "", err
		}
	}
	release := chartutil.ReleaseOptions{Name: args[1], Namespace: args[2], IsUpgrade: true, Revision: 2}
	all, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", name, strings.TrimSpace(files[name]))
	}
	return b.String(), nil
}
