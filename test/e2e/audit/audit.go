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
	ID       string `json:"auditID"`
	User     struct{ Username string }
	Verb     string
	URI      string             `json:"requestURI"`
	Response struct{ Code int } `json:"responseStatus"`
	At       time.Time          `json:"requestReceivedTimestamp"`
	Object   struct {
		APIGroup, Resource, Namespace, Name, Subresource string
	} `json:"objectRef"`
	Stage string
}

// Write says that the request could change something.
func (e Entry) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb)
}

// Between gives the finished requests of these users that arrived in [from, to).
func Between(file string, from, to time.Time, users ...string) ([]Entry, error) {
	return read(file, users, func(e Entry) bool {
		return e.Stage == "ResponseComplete" && !e.At.Before(from) && e.At.Before(to)
	})
}

// Asked gives every request of these users so far, also watches that have not
// ended.
func Asked(file string, users ...string) ([]Entry, error) {
	seen := map[string]bool{} // a watch is there twice once it has ended
	return read(file, users, func(e Entry) bool {
		again := seen[e.ID]
		seen[e.ID] = true
		return !again
	})
}

func read(file string, users []string, want func(Entry) bool) ([]Entry, error) {
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
		if slices.Contains(users, e.User.Username) && want(e) {
			found = append(found, e)
		}
	}
}

func mentions(line []byte, users []string) bool {
	return slices.ContainsFunc(users, func(u string) bool { return bytes.Contains(line, []byte(u)) })
}
