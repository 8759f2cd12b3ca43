package clients

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
)

// An addition is a server that moving added to our file.
type addition struct {
	Config string `json:"config"`
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Own    string `json:"own,omitempty"` // the client's name for it, if different
	Hash   string `json:"hash"`          // of the entry, to detect later changes
}

func entryHash(entry map[string]any) (string, error) {
	raw, err := json.Marshal(entry) // sorts the keys
	return HashOf(raw), err
}

// planMove divides a client's servers into those that move to the gateway, and
// those that stay with the client because moving would lose them.
func planMove(a *env.Env, change *Change, servers []foreign, names ImportFlags) error {
	var found []string
	for _, s := range servers {
		found = append(found, s.Name)
	}
	if err := checkRenames(a, names.Rename, found); err != nil {
		return err
	}
	have := haveEntries(a, change.into)
	for _, s := range servers {
		if s.Name == OwnEntry {
			continue
		}
		t := translate(a, change.Client, s)
		if err := t.settleName(have, names); err != nil {
			return err
		}
		why := t.skip
		if why == "" {
			why = refused(a, have, t)
		}
		if why == "" && !t.replace && have.compare(t) == "conflict" {
			why = nameTaken(a, t)
		}
		if why != "" {
			change.Staying = append(change.Staying, Imported{Name: s.Name, Outcome: why})
			continue
		}
		change.Moving = append(change.Moving, t)
		change.Conn.Moved[s.Name] = s.raw
		var err error
		if change.After, err = Edit(change.Client, change.After, s.Name, nil); err != nil {
			return clientError(a, change.Conn.File, err)
		}
	}
	return nil
}

// ImportFlags returns the flags for importing the moved servers of a change.
func (c *Change) ImportFlags() ImportFlags {
	return ImportFlags{Schema: c.into, StoreSecrets: c.storeSecrets}
}

// moveServers writes the moving servers to our file, and records the additions.
func moveServers(ctx context.Context, a *env.Env, change *Change) error {
	if len(change.Moving) == 0 {
		return nil
	}
	var err error
	if change.Moved, err = ImportAll(ctx, a, change.Moving, change.ImportFlags()); err != nil {
		return err
	}
	found, err := config.Discover(a.LoadOptions(true))
	if err != nil {
		return err
	}
	for i, d := range change.Moved {
		if !d.Added || change.Moving[i].replace {
			continue // the name existed before
		}
		hash, err := entryHash(change.Moving[i].entry)
		if err != nil {
			return err
		}
		change.Conn.Added = append(change.Conn.Added, addition{Config: found.Path, Schema: change.into, Name: change.Moving[i].Name, Own: ownName(change.Moving[i]), Hash: hash})
	}
	return nil
}

// planReturn finds the servers that moving added to our file and that are
// neither changed nor needed since. They are removed when the client gets them
// back.
func planReturn(a *env.Env, change *Change, all map[string]connection) {
	for _, add := range change.Conn.Added {
		raw, err := RawEntry(a, add.Config, add.Schema, add.Name)
		var entry map[string]any
		if err != nil || json.Unmarshal(raw, &entry) != nil || entry == nil {
			continue // already removed
		}
		why := ""
		if hash, err := entryHash(entry); err != nil || hash != add.Hash {
			why = a.T("changed since; it stays with the gateway too", "此后已修改；网关中也保留")
		}
		for id, other := range all {
			if (other.Moved[add.Name] != nil || other.Moved[add.Own] != nil) && id != change.Client.ID {
				why = a.T(id+" uses it through the gateway; it stays there too", id+" 正通过网关使用；网关中也保留")
			}
		}
		if why != "" {
			change.Staying = append(change.Staying, Imported{Name: add.Name, Outcome: why})
			continue
		}
		change.Leaving = append(change.Leaving, add)
	}
}

// returnServers removes the servers that planReturn found from our file.
func returnServers(ctx context.Context, a *env.Env, leaving []addition) error {
	for _, add := range leaving {
		_, err := edit.Update(add.Config, a.WriteOptions(), func(d *edit.Draft) error { return d.RemoveServer(add.Schema, add.Name) })
		if err != nil {
			return err
		}
		if _, err := control.ReloadRunning(ctx, a, add.Config); err != nil {
			return err
		}
	}
	return nil
}

// SayMoved prints the results for a client's own servers, each after the given
// word.
func SayMoved(a *env.Env, word string, moved, staying []Imported) {
	for _, d := range moved {
		fmt.Fprintf(a.Stderr, "%s%s%s\n", word, d.Name, UnderName(a, d))
		for _, note := range d.Notes {
			fmt.Fprintf(a.Stderr, "  %s%s%s\n", d.Name, a.T(": ", "："), note)
		}
	}
	for _, d := range staying {
		fmt.Fprintf(a.Stderr, a.T("not moved: %s: %s\n", "未移动：%s：%s\n"), d.Name, d.Outcome)
	}
}

// ownName returns the client's name for a server, if it differs from ours.
func ownName(t Translation) string {
	if t.own == t.Name {
		return ""
	}
	return t.own
}
