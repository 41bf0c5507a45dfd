// Package audit reads the API server's audit log: who asked for what.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Entry is one answered request.
type Entry struct {
	User     struct{ Username string }
	Verb     string
	Response struct{ Code int } `json:"responseStatus"`
	At       time.Time          `json:"requestReceivedTimestamp"`
	Object   struct {
		Resource, Namespace, Name, Subresource string
	} `json:"objectRef"`
	Stage string
}

// Write says that the request could change something.
func (e Entry) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
}

// Between gives the finished requests of these users that arrived in [from, to).
func Between(file string, from, to time.Time, users ...string) ([]Entry, error) {
	log, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	var found []Entry
	lines := bufio.NewReaderSize(log, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return found, nil // what follows the last newline is still being written
		}
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		if !mentions(line, users) {
			continue // parsing every line of a long run would take minutes
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		if e.Stage == "ResponseComplete" && slices.Contains(users, e.User.Username) && !e.At.Before(from) && e.At.Before(to) {
			found = append(found, e)
		}
	}
}

func mentions(line []byte, users []string) bool {
	return slices.ContainsFunc(users, func(u string) bool { return bytes.Contains(line, []byte(u)) })
}
