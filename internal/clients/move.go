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

// An addition is a server that moving put into our file.
type addition struct {
	Config string `json:"config"`
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Own    string `json:"own,omitempty"` // the client's name for it, when that is another
	Hash   string `json:"hash"`          // of the entry, so that a later change shows
}

func entryHash(entry map[string]any) (string, error) {
	raw, err := json.Marshal(entry) // sorts the keys
	return HashOf(raw), err
}

// planMove sorts a client's servers into those that move behind us, and those
// that stay with it because moving would lose them.
func planMove(a *env.Env, change *Change, servers []foreign, names ImportFlags) error {
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

// ImportFlags are those that the servers of a change move with.
func (c *Change) ImportFlags() ImportFlags {
	return ImportFlags{Schema: c.into, StoreSecrets: c.storeSecrets}
}

// moveServers writes what moves into our file, and notes what that added.
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
		if !d.added || change.Moving[i].replace {
			continue // one of its name was there before
		}
		hash, err := entryHash(change.Moving[i].entry)
		if err != nil {
			return err
		}
		change.Conn.Added = append(change.Conn.Added, addition{Config: found.Path, Schema: change.into, Name: change.Moving[i].Name, Own: ownName(change.Moving[i]), Hash: hash})
	}
	return nil
}

// planReturn finds what moving has put into our file and nobody has changed
// or needs since: it leaves when the client has it back.
func planReturn(a *env.Env, change *Change, all map[string]connection) {
	for _, add := range change.Conn.Added {
		raw, err := RawEntry(a, add.Config, add.Schema, add.Name)
		var entry map[string]any
		if err != nil || json.Unmarshal(raw, &entry) != nil || entry == nil {
			continue // it is gone already
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

// returnServers takes out of our file what planReturn found.
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

// SayMoved lists what became of a client's own servers, under the given word.
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

// ownName is the client's name for a server, when ours is another.
func ownName(t Translation) string {
	if t.own == t.Name {
		return ""
	}
	return t.own
}
