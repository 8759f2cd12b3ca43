package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/web/api"
)

// A Change is a planned change of a client's file.
type Change struct {
	Client        *Client
	Conn          connection
	Before, After []byte
	// Moving are the client's servers that move to the schema into of the
	// gateway. Moved are their results. Leaving are the servers that go back to
	// the client.
	Moving       []Translation
	into         string
	storeSecrets bool
	Moved        []Imported
	Leaving      []addition
	// Staying are the servers that are not moved, with the reasons.
	Staying []Imported
	// remove reports that we created the file.
	remove bool
}

func (c *Change) Nothing() bool { return string(c.After) == string(c.Before) }

// Diff returns the change with the secrets of all servers masked.
func (c *Change) Diff() string {
	text := unifiedDiff(c.Conn.File, c.Before, c.After)
	for _, content := range [][]byte{c.Before, c.After} {
		servers, err := Parse(content, c.Client)
		if err != nil {
			continue
		}
		for _, s := range servers {
			text = maskValues(text, s.raw)
		}
	}
	return text
}

func unifiedDiff(path string, before, after []byte) string {
	_, text, _ := strings.Cut(string(diff.Diff(path, before, path, after)), "\n") // the first line names a diff command
	return text
}

// PlanConnect computes the change of a client's file that adds this gateway as
// entry and, if the flags say so, moves the client's own servers to the
// gateway.
func PlanConnect(a *env.Env, c *Client, entry any, f ConnectFlags) (*Change, error) {
	path, _ := FileOf(a, c)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	servers, err := Read(a, c, path)
	if err != nil {
		return nil, err
	}
	change := &Change{Client: c, Before: before, After: before, Conn: connection{File: path, Moved: map[string]json.RawMessage{}},
		into: cmp.Or(f.Schema, config.DefaultSchema), storeSecrets: f.StoreSecrets}
	if f.All {
		if err := planMove(a, change, servers, ImportFlags{Rename: f.Rename, Ask: f.Ask}); err != nil {
			return nil, err
		}
	}
	if !hasEntry(servers, entry) {
		if change.After, err = Edit(c, change.After, OwnEntry, entry); err != nil {
			return nil, clientError(a, path, err)
		}
	}
	return change, nil
}

// MakeConnection makes the planned change and records how to undo it.
func MakeConnection(ctx context.Context, a *env.Env, change *Change) error {
	if err := moveServers(ctx, a, change); err != nil {
		return err
	}
	conn, err := &change.Conn, error(nil)
	if conn.Backup, err = replaceClientFile(conn.File, change.Before, change.After); err != nil {
		return clientError(a, conn.File, err)
	}
	conn.Hash = HashOf(change.After)
	if all, err := Connections(); err == nil {
		conn.follow(all[change.Client.ID], change.Before)
	}
	return remember(change.Client.ID, conn)
}

// PlanDisconnect computes the change of a client's file that removes our entry.
func PlanDisconnect(a *env.Env, c *Client) (*Change, error) {
	all, err := Connections()
	if err != nil {
		return nil, err
	}
	conn, known := all[c.ID]
	if !known {
		conn.File, _ = FileOf(a, c)
	}
	before, err := os.ReadFile(conn.File)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	after, err := undone(c, conn, before)
	if err != nil {
		return nil, clientError(a, conn.File, err)
	}
	change := &Change{Client: c, Conn: conn, Before: before, After: after,
		remove: known && conn.Backup == "" && conn.Hash == HashOf(before)}
	planReturn(a, change, all)
	return change, nil
}

// EndConnection makes the change of PlanDisconnect. It writes the client's file
// first, so that every server is always in at least one of the two files.
func EndConnection(ctx context.Context, a *env.Env, change *Change) error {
	var err error
	switch {
	case change.Nothing():
	case change.remove:
		err = os.Remove(change.Conn.File)
	default:
		_, err = replaceClientFile(change.Conn.File, change.Before, change.After)
	}
	if err != nil {
		return clientError(a, change.Conn.File, err)
	}
	if err := returnServers(ctx, a, change.Leaving); err != nil {
		return err
	}
	return remember(change.Client.ID, nil)
}

// hasEntry reports whether a client already has exactly this entry of ours.
func hasEntry(servers []foreign, entry any) bool {
	for _, s := range servers {
		if s.Name != OwnEntry {
			continue
		}
		var have, want any
		raw, err := json.Marshal(entry)
		if err != nil || json.Unmarshal(raw, &want) != nil || json.Unmarshal(s.raw, &have) != nil {
			return false
		}
		if m, ok := have.(map[string]any); ok && m["name"] == OwnEntry {
			if w, ok := want.(map[string]any); ok {
				w["name"] = OwnEntry // items of a list contain their name
			}
		}
		return reflect.DeepEqual(have, want)
	}
	return false
}

// undone returns a client's file without our change.
func undone(c *Client, conn connection, now []byte) ([]byte, error) {
	if conn.Hash != "" && conn.Hash == HashOf(now) {
		if conn.Backup == "" {
			return nil, nil
		}
		if old, err := os.ReadFile(conn.Backup); err == nil {
			return old, nil
		}
	}
	servers, err := Parse(now, c)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, s := range servers {
		there[s.Name] = true
	}
	after := now
	if there[OwnEntry] {
		if after, err = Edit(c, after, OwnEntry, nil); err != nil {
			return nil, err
		}
	}
	for _, name := range env.SortedKeys(conn.Moved) {
		if there[name] {
			continue
		}
		var entry any
		if err := json.Unmarshal(conn.Moved[name], &entry); err != nil {
			return nil, err
		}
		if after, err = Edit(c, after, name, entry); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// maskValues masks the values of an entry's environment and headers in a text.
func maskValues(text string, entry json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(entry, &fields) != nil {
		return text
	}
	values := hiddenValues(fields)
	for _, key := range []string{"command", "requestOptions"} { // older versions of Zed, and Continue
		values = append(values, hiddenValues(object(fields[key]))...)
	}
	// Longest first: otherwise the rest of a value that contains another would
	// remain.
	slices.SortFunc(values, func(v, w string) int { return len(w) - len(v) })
	for _, v := range values {
		if quoted, err := json.Marshal(v); err == nil {
			text = strings.ReplaceAll(text, string(quoted), `"`+api.Kept+`"`)
		}
		if len(v) >= 6 {
			text = strings.ReplaceAll(text, v, api.Kept)
		}
	}
	return text
}

func hiddenValues(fields map[string]any) []string {
	var list []string
	for _, key := range []string{"env", "environment", "envs", "headers", "http_headers"} {
		values, _ := fields[key].(map[string]any)
		for _, value := range values {
			if v, _ := value.(string); v != "" {
				list = append(list, v)
			}
		}
	}
	return list
}
