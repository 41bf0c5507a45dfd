package kubectl

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// manifest is what Krew reads of a plugin's manifest.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Caveats          string     `json:"caveats"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

func (p platform) name() string {
	return p.Selector.MatchLabels["os"] + "_" + p.Selector.MatchLabels["arch"]
}

func readManifest(t *testing.T, file string) manifest {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// What Krew's own validation asks, and that each archive is named after its
// platform, which Go can build for.
func TestTheKrewManifestIsOne(t *testing.T) {
	m := readManifest(t, "../../deploy/krew/etcdroll.yaml")
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "etcdroll" {
		t.Errorf("%s %s %s", m.APIVersion, m.Kind, m.Metadata.Name)
	}
	if s := m.Spec; s.Version != "@VERSION@" || s.Homepage == "" || s.Description == "" || s.ShortDescription == "" || len(s.ShortDescription) > 50 || strings.HasSuffix(s.ShortDescription, ".") {
		t.Errorf("%+v", s)
	}
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(string(out))
	seen := map[string]bool{}
	for _, p := range m.Spec.Platforms {
		if seen[p.name()] || !slices.Contains(known, strings.Replace(p.name(), "_", "/", 1)) || p.SHA256 != "@SHA256_"+p.name()+"@" {
			t.Errorf("platform %s: %+v", p.name(), p)
		}
		seen[p.name()] = true
		want := "https://github.com/etcdroll/etcdroll/releases/download/@VERSION@/kubectl-etcdroll_" + p.name() + ".tar.gz"
		if p.URI != want {
			t.Errorf("uri %s, want %s", p.URI, want)
		}
		if exe := strings.HasSuffix(p.Bin, ".exe"); !strings.HasPrefix(p.Bin, "kubectl-etcdroll") || exe != (p.Selector.MatchLabels["os"] == "windows") {
			t.Errorf("bin %s on %s", p.Bin, p.name())
		}
	}
}

var checksum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// The archive of this platform is built, its checksum is in the manifest, and
// what is in it runs.
func TestTheKrewArchiveIsBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir, here := t.TempDir(), runtime.GOOS+"_"+runtime.GOARCH
	if out, err := exec.Command("../../deploy/krew/release.sh", "v0.1.0", dir, here).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archive := filepath.Join(dir, "kubectl-etcdroll_"+here+".tar.gz")
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	m := readManifest(t, filepath.Join(dir, "etcdroll.yaml"))
	i := slices.IndexFunc(m.Spec.Platforms, func(p platform) bool { return p.name() == here })
	if i < 0 {
		t.Skipf("no archive for %s", here)
	}
	p := m.Spec.Platforms[i]
	if !checksum.MatchString(p.SHA256) || p.SHA256 != hex.EncodeToString(sum[:]) || m.Spec.Version != "v0.1.0" || !strings.Contains(p.URI, "/v0.1.0/") {
		t.Errorf("%+v", p)
	}
	files := unpack(t, archive, dir)
	for _, want := range []string{p.Bin, "LICENSE", "kubectl_complete-etcdroll"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is missing among %v", want, files)
		}
	}
	out, err := exec.Command(filepath.Join(dir, p.Bin), "--version").Output()
	if err != nil || !strings.Contains(string(out), "v0.1.0") {
		t.Errorf("%v: %s", err, out)
	}
}

func unpack(t *testing.T, archive, dir string) (names []string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Base(h.Name)
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, h.FileInfo().Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
}
