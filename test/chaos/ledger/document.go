package ledger

import (
	"fmt"
	"os"
	"strings"
)

// The figures of the document lie between these lines.
const (
	begin = "<!-- figures: written by `go run ./test/chaos -doc`, do not edit -->\n"
	end   = "<!-- end of figures -->\n"
)

// Document replaces the figures of the document by those of the rows.
func Document(file string, rows []Row) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for figures", file)
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+Tables(rows)+"\n"+end+after), 0o644)
}
