package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/etcdroll/etcdroll/test/e2e/audit"
)

func asked(verb, resource string, code int) audit.Entry {
	e := audit.Entry{Verb: verb}
	e.Object.Resource, e.Response.Code = resource, code
	return e
}

func TestOnlyLooksThatTookAStepAreHeldToTheBars(t *testing.T) {
	set, pod, patched := asked("get", "statefulsets", 200), asked("get", "pods", 200), asked("patch", "statefulsets", 200)
	waits := []audit.Entry{set, pod}
	step := []audit.Entry{set, pod, pod, pod, asked("get", "configmaps", 200), asked("list", "poddisruptionbudgets", 200), patched}
	lost := []audit.Entry{set, pod, asked("patch", "statefulsets", 409)}
	list := reads(slices.Concat(waits, step, lost))
	for i, want := range []string{"1", "3", "1", "1", "1"} {
		if f := list[i]; f.measured != want || !f.met {
			t.Errorf("%+v, want %s and met", f, want)
		}
	}
	if list[5].measured != "1 of 3" || list[6].measured != "1 × patch statefulsets 409" {
		t.Errorf("%+v", list[5:])
	}
	twice := reads(slices.Concat(step, []audit.Entry{set, pod, pod, pod, pod, pod, pod, patched, patched}))
	if f := twice[1]; f.met || f.measured != "3 to 6" {
		t.Errorf("%+v", f)
	}
	if f := twice[4]; f.met || f.measured != "1 to 2" {
		t.Errorf("%+v", f)
	}
	for _, f := range reads(nil)[:5] {
		if f.met {
			t.Errorf("no step meets the bar: %+v", f)
		}
	}
}

func TestTheBenchmarkOfTheMiddleTimeCounts(t *testing.T) {
	p, err := parseBenchmark("goos: linux\nBenchmarkStep-2   \t 178\t   300500 ns/op\t   85697 B/op\t     783 allocs/op\n" +
		"BenchmarkStep-2 \t 92 \t 100.5 ns/op\t 1 B/op\t 2 allocs/op\nBenchmarkStep \t 92 \t 900000 ns/op\t 3 B/op\t 4 allocs/op\nPASS\n")
	if err != nil || p.Took != 300500*time.Nanosecond || p.Bytes != 85697 || p.Allocs != 783 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := parseBenchmark("PASS\n"); err == nil {
		t.Errorf("no benchmark gives %+v", p)
	}
}

func TestSitesAreOfOneStepAndTheLargestComesFirst(t *testing.T) {
	sites, err := parseTop(`Showing nodes accounting for 132661928B, 78.60% of 168772872B total
      flat  flat%   sum%        cum   cum%
  4096B  2.43% 38.74%   4096000B  2.43%  go.yaml.in/yaml/v2.yaml_parser_initialize (inline)
 8000B 14.86% 14.86%  25088000B 14.86%  slices.Clone[go.shape.[]github.com/etcdroll/etcdroll/pkg/guard.Finding,go.shape.struct { Gate github.com/etcdroll/etcdroll/pkg/guard.Gate }] (inline)
   0     0%   100%  9B 0.1%  github.com/etcdroll/etcdroll/pkg/fn.(*Handler).ServeHTTP
`, 4)
	want := []site{{"slices.Clone[[]pkg/guard.Finding]", 2000}, {"go.yaml.in/yaml/v2.yaml_parser_initialize", 1024}, {"pkg/fn.(*Handler).ServeHTTP", 0}}
	if err != nil || !slices.Equal(sites, want) {
		t.Errorf("%+v, %v", sites, err)
	}
	if sites, err := parseTop("nothing", 1); err == nil {
		t.Errorf("no table gives %+v", sites)
	}
}

func TestAnImageIsAsLargeAsItsLayers(t *testing.T) {
	layout := t.TempDir()
	for name, text := range map[string]string{
		"index.json":       `{"manifests":[{"digest":"sha256:top","size":1}]}`,
		"blobs/sha256/top": `{"manifests":[{"digest":"sha256:a","size":2,"platform":{"os":"linux","architecture":"amd64"}},{"digest":"sha256:b","size":2,"platform":{"os":"linux","architecture":"arm64","variant":"v8"}}]}`,
		"blobs/sha256/a":   `{"config":{"digest":"sha256:c","size":500},"layers":[{"digest":"sha256:d","size":10},{"digest":"sha256:e","size":20}]}`,
		"blobs/sha256/b":   `{"layers":[{"digest":"sha256:f","size":7}]}`,
	} {
		file := filepath.Join(layout, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	images, err := imagesIn(layout)
	if err != nil || !slices.Equal(images, []image{{"linux/amd64", 30}, {"linux/arm64/v8", 7}}) {
		t.Errorf("%+v, %v", images, err)
	}
	if images, err := imagesIn(t.TempDir()); err == nil {
		t.Errorf("no layout gives %+v", images)
	}
}

func TestAProgramWithSymbolsIsNotWhatIsShipped(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	for flags, stripped := range map[string]bool{"": false, "-w": false, "-s -w": true} {
		if _, err := run(t.Context(), dir, "go", "build", "-ldflags="+flags, "-o="+program, source); err != nil {
			t.Fatal(err)
		}
		if size, err := sizeOf(program); (err == nil) != stripped || stripped != (size > 0) {
			t.Errorf("linked with %q: %d bytes, %v", flags, size, err)
		}
	}
}
