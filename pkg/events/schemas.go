package events

import (
	"embed"
	"fmt"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// Schema is the JSON schema (draft 2020-12) of the payload of one of our own event types.
func Schema(eventType string) ([]byte, error) {
	raw, err := schemaFiles.ReadFile("schemas/" + eventType + ".json")
	if err != nil {
		return nil, fmt.Errorf("no schema for event type %s", quote(eventType))
	}
	return raw, nil
}
