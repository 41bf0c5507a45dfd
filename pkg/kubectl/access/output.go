package access

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Output is the value of -o.
type Output string

// The outputs.
const (
	Text Output = ""
	Wide Output = "wide"
	JSON Output = "json"
	YAML Output = "yaml"
)

// OutputFlag adds -o with the outputs that the command has besides text.
func OutputFlag(c *cobra.Command, to *Output, others ...Output) {
	var names []string
	for _, o := range others {
		names = append(names, string(o))
	}
	c.Flags().VarP(&outputValue{to, names}, "output", "o", "one of: "+strings.Join(names, ", "))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

type outputValue struct {
	to    *Output
	names []string
}

// String is the value.
func (o *outputValue) String() string { return string(*o.to) }

// Type is what the help calls the value.
func (o *outputValue) Type() string { return "format" }

// Set takes one of the names.
func (o *outputValue) Set(value string) error {
	if !slices.Contains(o.names, value) {
		return fmt.Errorf("use one of %s", strings.Join(o.names, ", "))
	}
	*o.to = Output(value)
	return nil
}

// Structured says that the output is for programs.
func (o Output) Structured() bool { return o == JSON || o == YAML }

// Encode prints the value for programs.
func (a *Access) Encode(o Output, value any) error {
	if o == YAML {
		text, err := yaml.Marshal(value)
		if err == nil {
			_, err = a.Streams.Out.Write(text)
		}
		return err
	}
	encoder := json.NewEncoder(a.Streams.Out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
