package ledger

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Read gives all rows of the file; none if there is no file.
func Read(file string) ([]Run, error) {
	lines, err := readTable(file)
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	if !slices.Equal(lines[0], names()) {
		return nil, fmt.Errorf("%s has other columns than this program; start anew", file)
	}
	var runs []Run
	for n, line := range lines[1:] {
		var r Run
		for i, c := range Columns {
			if err := c.decode(&r, line[i]); err != nil {
				return nil, fmt.Errorf("read %s: row %d: %w", file, n+1, err)
			}
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Append adds a row, and is on disk when it returns.
func Append(file string, r Run) error {
	var line []string
	for _, c := range Columns {
		line = append(line, c.encode(&r))
	}
	return appendTable(file, names(), line)
}

func names() []string {
	var names []string
	for _, c := range Columns {
		names = append(names, c.Name)
	}
	return names
}

func readTable(file string) ([][]string, error) {
	source, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	lines, err := csv.NewReader(source).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return lines, nil
}

func appendTable(file string, head, line []string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	target, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	info, err := target.Stat()
	if err != nil {
		return errors.Join(err, target.Close())
	}
	w := csv.NewWriter(target)
	if info.Size() == 0 {
		_ = w.Write(head) // errors stay with the writer
	}
	_ = w.Write(line)
	w.Flush()
	return errors.Join(w.Error(), target.Sync(), target.Close())
}
