package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"

	"mcp-all-in-one/internal/config"
)

// A clientChange is a change of a client's file that was not made yet.
type clientChange struct {
	client        *client
	conn          connection
	before, after []byte
	// moving are the client's servers that go behind us into the schema into,
	// moved what became of them; leaving are those that go back.
	moving       []translation
	into         string
	storeSecrets bool
	moved        []imported
	leaving      []addition
	// staying are those that are not moved, and why.
	staying []imported
	// remove says that there was no file before we made it.
	remove bool
}

func (c *clientChange) nothing() bool { return string(c.after) == string(c.before) }

// diff shows the change without the secrets of the servers around it.
func (c *clientChange) diff() string {
	text := unifiedDiff(c.conn.File, c.before, c.after)
	for _, content := range [][]byte{c.before, c.after} {
		servers, err := parseClient(content, c.client)
		if err != nil {
			continue
		}
		for _, s := range servers {
			text = maskValues(text, s.raw)
		}
	}
	return text
}

// planConnect works out how a client's file changes when this gateway is put
// into it under entry, with its own servers moved behind us where the flags
// say so.
func planConnect(a *app, c *client, entry any, f connectFlags) (*clientChange, error) {
	path, _ := clientFile(a, c)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	servers, err := readClient(a, c, path)
	if err != nil {
		return nil, err
	}
	change := &clientChange{client: c, before: before, after: before, conn: connection{File: path, Moved: map[string]json.RawMessage{}},
		into: cmp.Or(f.schema, config.DefaultSchema), storeSecrets: f.storeSecrets}
	if f.all {
		if err := planMove(a, change, servers, importFlags{rename: f.rename, ask: f.ask}); err != nil {
			return nil, err
		}
	}
	if !hasEntry(servers, entry) {
		if change.after, err = editClient(c, change.after, ownEntry, entry); err != nil {
			return nil, clientError(a, path, err)
		}
	}
	return change, nil
}

// makeConnection writes what was planned, and remembers how to undo it.
func makeConnection(ctx context.Context, a *app, change *clientChange) error {
	if err := moveServers(ctx, a, change); err != nil {
		return err
	}
	conn, err := &change.conn, error(nil)
	if conn.Backup, err = replaceClientFile(conn.File, change.before, change.after); err != nil {
		return clientError(a, conn.File, err)
	}
	conn.Hash = hashOf(change.after)
	if all, err := connections(); err == nil {
		conn.follow(all[change.client.id], change.before)
	}
	return remember(change.client.id, conn)
}

// planDisconnect works out how a client's file changes when we leave it.
func planDisconnect(a *app, c *client) (*clientChange, error) {
	all, err := connections()
	if err != nil {
		return nil, err
	}
	conn, known := all[c.id]
	if !known {
		conn.File, _ = clientFile(a, c)
	}
	before, err := os.ReadFile(conn.File)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	after, err := undone(c, conn, before)
	if err != nil {
		return nil, clientError(a, conn.File, err)
	}
	change := &clientChange{client: c, conn: conn, before: before, after: after,
		remove: known && conn.Backup == "" && conn.Hash == hashOf(before)}
	planReturn(a, change, all)
	return change, nil
}

// endConnection writes what planDisconnect planned: the client's file first,
// so that no server is ever in neither.
func endConnection(ctx context.Context, a *app, change *clientChange) error {
	var err error
	switch {
	case change.nothing():
	case change.remove:
		err = os.Remove(change.conn.File)
	default:
		_, err = replaceClientFile(change.conn.File, change.before, change.after)
	}
	if err != nil {
		return clientError(a, change.conn.File, err)
	}
	if err := returnServers(ctx, a, change.leaving); err != nil {
		return err
	}
	return remember(change.client.id, nil)
}

// hasEntry says whether a client has this very entry of ours already.
func hasEntry(servers []foreign, entry any) bool {
	for _, s := range servers {
		if s.name != ownEntry {
			continue
		}
		var have, want any
		raw, err := json.Marshal(entry)
		if err != nil || json.Unmarshal(raw, &want) != nil || json.Unmarshal(s.raw, &have) != nil {
			return false
		}
		if m, ok := have.(map[string]any); ok && m["name"] == ownEntry {
			if w, ok := want.(map[string]any); ok {
				w["name"] = ownEntry // a list's items carry it
			}
		}
		return reflect.DeepEqual(have, want)
	}
	return false
}
