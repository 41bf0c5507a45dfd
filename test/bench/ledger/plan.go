package ledger

import (
	"errors"
	"fmt"
	"slices"
)

// Plan is what is wanted.
type Plan struct {
	Runs     int
	Graces   []string
	Variants []string
}

// Missing are the runs that are wanted and not there, in the order in which to
// make them: one of each variant before the second of any.
func (p Plan) Missing(have []Run) []Key {
	var missing []Key
	for number := range p.Runs {
		for _, grace := range p.Graces {
			for _, variant := range p.Variants {
				key := Key{Variant: variant, Grace: grace, Number: number}
				if !slices.ContainsFunc(have, func(r Run) bool { return r.Key == key }) {
					missing = append(missing, key)
				}
			}
		}
	}
	return missing
}

// StartLeader is who leads at the start of a run: every index in its turn.
func StartLeader(number, members int) int { return number % members }

// ErrMixed says that rows cannot stand in one table.
var ErrMixed = errors.New("measured under another configuration")

// Comparable is ErrMixed if rows were measured under another configuration.
func Comparable(have []Run, now Setting) error {
	for _, r := range have {
		if r.Config != now.Config {
			return fmt.Errorf("%w: %q, and now it is %q", ErrMixed, r.Config, now.Config)
		}
	}
	return nil
}
