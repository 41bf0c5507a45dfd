// Command admission stands in for Knative's webhooks where the API server cannot
// reach them: it reads manifests, lets Knative's own types default and validate
// them with the settings of a released Knative, and prints what would be stored.
//
//	kubectl kustomize config/broker | admission EVENTING SERVING | kubectl apply -f -
//
// EVENTING and SERVING are the folders of the two modules.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: admission EVENTING SERVING < manifests")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(eventing, serving string, in io.Reader, out io.Writer) error {
	ctx, err := released(context.Background(), eventing, serving)
	if err != nil {
		return err
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		stored, _, err := admit(ctx, document)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", stored); err != nil {
			return err
		}
	}
}
