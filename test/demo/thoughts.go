package main

import (
	"bytes"
	"encoding/json"
	"os"
)

// thoughts follows the function's log: what it did last, and why.
type thoughts struct {
	file string
	at   int64
	last thought
}

// thought is one line about one look at the set.
type thought struct {
	Message string `json:"msg"`
	Step    string `json:"step"`
	Reason  string `json:"reason"`
	Why     string `json:"message"`
	Outcome string `json:"outcome"`
}

func follow(file string) *thoughts { return &thoughts{file: file} }

// latest reads what has been written since and gives the last look that says
// something; the zero thought if there is none yet.
func (t *thoughts) latest() thought {
	if t == nil {
		return thought{}
	}
	content, err := os.ReadFile(t.file)
	if err != nil || int64(len(content)) < t.at {
		return t.last
	}
	fresh := content[t.at:]
	for {
		line, rest, whole := bytes.Cut(fresh, []byte("\n"))
		if !whole {
			return t.last
		}
		t.at += int64(len(line)) + 1
		fresh = rest
		var now thought
		if json.Unmarshal(line, &now) == nil && now.Message == "visit" && now.Reason != "" && now.Reason != "StaleEvent" {
			t.last = now
		}
	}
}
