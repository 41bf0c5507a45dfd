package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// shipped are the programs, the function first.
var shipped = []string{"roll-fn", "trigger", "kubectl-etcdroll"}

// programIn is where `make image` puts a program for this machine.
func programIn(dist, name string) string {
	return filepath.Join(dist, name+"-linux-"+runtime.GOARCH)
}

// sizes are those of the programs and of the images that `make image` has made.
func sizes(dist string) ([]figure, error) {
	var list []figure
	for _, name := range shipped {
		size, err := sizeOf(programIn(dist, name))
		if err != nil {
			return nil, fmt.Errorf("run make image: %w", err)
		}
		what := name + ": program for linux/" + runtime.GOARCH + ", stripped"
		if name == "roll-fn" {
			list = append(list, below(what, size, binaryTarget))
		} else {
			list = append(list, plain(what, mebi(size)))
		}
	}
	for _, name := range shipped {
		images, err := imagesIn(filepath.Join(dist, name+".oci"))
		if err != nil {
			return nil, fmt.Errorf("image of %s: %w", name, err)
		}
		for _, i := range images {
			list = append(list, plain(fmt.Sprintf("%s: image for %s, all layers compressed", name, i.platform), mebi(i.layers)))
		}
	}
	return list, nil
}

// sizeOf is that of a program without symbols and debug information; one that
// has them is not what is shipped.
func sizeOf(file string) (int64, error) {
	program, err := elf.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { _ = program.Close() }()
	for _, section := range program.Sections {
		if section.Name == ".symtab" || strings.HasPrefix(section.Name, ".debug_") || strings.HasPrefix(section.Name, ".zdebug_") {
			return 0, fmt.Errorf("%s has a section %s and is not stripped", file, section.Name)
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// image is one platform of an OCI image layout.
type image struct {
	platform string
	layers   int64 // bytes, as they lie in a registry
}

// descriptor and manifest are what is needed of the OCI image specification.
type descriptor struct {
	Digest   string
	Size     int64
	Platform *struct{ OS, Architecture, Variant string }
}

type manifest struct{ Manifests, Layers []descriptor }

// imagesIn follows the layout from its index down to the layers.
func imagesIn(layout string) ([]image, error) {
	top, err := manifestIn(filepath.Join(layout, "index.json"))
	if err != nil {
		return nil, err
	}
	var images []image
	for queue := top.Manifests; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		algorithm, digest, _ := strings.Cut(at.Digest, ":")
		below, err := manifestIn(filepath.Join(layout, "blobs", algorithm, digest))
		if err != nil {
			return nil, err
		}
		if at.Platform == nil { // an index within the index
			queue = append(queue, below.Manifests...)
			continue
		}
		i := image{platform: strings.TrimSuffix(at.Platform.OS+"/"+at.Platform.Architecture+"/"+at.Platform.Variant, "/")}
		for _, layer := range below.Layers {
			i.layers += layer.Size
		}
		images = append(images, i)
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("%s holds no image", layout)
	}
	return images, nil
}

func manifestIn(file string) (manifest, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return manifest{}, err
	}
	var m manifest
	return m, json.Unmarshal(text, &m)
}
