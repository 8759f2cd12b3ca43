package clients

import (
	"encoding/json"
	"errors"

	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
)

// RawEntry returns an entry as the file has it, indented.
func RawEntry(a *env.Env, path, schema, name string) ([]byte, error) {
	var entry []byte
	_, err := edit.Update(path, a.WriteOptions(), func(d *edit.Draft) error {
		entry = d.Entry(schema, name)
		return env.ErrLookOnly
	})
	if err != nil && !errors.Is(err, env.ErrLookOnly) {
		return nil, err
	}
	pretty, err := json.MarshalIndent(json.RawMessage(entry), "", "  ")
	if err != nil {
		return entry, nil
	}
	return pretty, nil
}
