package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/config"
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
	return hashOf(raw), err
}

// planMove sorts a client's servers into those that move behind us, and those
// that stay with it because moving would lose them.
func planMove(a *app, change *clientChange, servers []foreign, names importFlags) error {
	have := haveEntries(a, change.into)
	for _, s := range servers {
		if s.name == ownEntry {
			continue
		}
		t := translate(a, change.client, s)
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
			change.staying = append(change.staying, imported{Name: s.name, Outcome: why})
			continue
		}
		change.moving = append(change.moving, t)
		change.conn.Moved[s.name] = s.raw
		var err error
		if change.after, err = editClient(change.client, change.after, s.name, nil); err != nil {
			return clientError(a, change.conn.File, err)
		}
	}
	return nil
}

// importFlags are those that the servers of a change move with.
func (c *clientChange) importFlags() importFlags {
	return importFlags{schema: c.into, storeSecrets: c.storeSecrets}
}

// moveServers writes what moves into our file, and notes what that added.
func moveServers(ctx context.Context, a *app, change *clientChange) error {
	if len(change.moving) == 0 {
		return nil
	}
	var err error
	if change.moved, err = importAll(ctx, a, change.moving, change.importFlags()); err != nil {
		return err
	}
	found, err := config.Discover(a.loadOptions(true))
	if err != nil {
		return err
	}
	for i, d := range change.moved {
		if !d.added || change.moving[i].replace {
			continue // one of its name was there before
		}
		hash, err := entryHash(change.moving[i].entry)
		if err != nil {
			return err
		}
		change.conn.Added = append(change.conn.Added, addition{Config: found.Path, Schema: change.into, Name: change.moving[i].name, Own: ownName(change.moving[i]), Hash: hash})
	}
	return nil
}

// planReturn finds what moving has put into our file and nobody has changed
// or needs since: it leaves when the client has it back.
func planReturn(a *app, change *clientChange, all map[string]connection) {
	for _, add := range change.conn.Added {
		raw, err := rawEntry(a, add.Config, add.Schema, add.Name)
		var entry map[string]any
		if err != nil || json.Unmarshal(raw, &entry) != nil || entry == nil {
			continue // it is gone already
		}
		why := ""
		if hash, err := entryHash(entry); err != nil || hash != add.Hash {
			why = a.t("changed since; it stays with the gateway too", "此后已修改；网关中也保留")
		}
		for id, other := range all {
			if (other.Moved[add.Name] != nil || other.Moved[add.Own] != nil) && id != change.client.id {
				why = a.t(id+" uses it through the gateway; it stays there too", id+" 正通过网关使用；网关中也保留")
			}
		}
		if why != "" {
			change.staying = append(change.staying, imported{Name: add.Name, Outcome: why})
			continue
		}
		change.leaving = append(change.leaving, add)
	}
}

// returnServers takes out of our file what planReturn found.
func returnServers(ctx context.Context, a *app, leaving []addition) error {
	for _, add := range leaving {
		_, err := config.Update(add.Config, a.writeOptions(), func(d *config.Draft) error { return d.RemoveServer(add.Schema, add.Name) })
		if err != nil {
			return err
		}
		if _, err := reloadRunning(ctx, a, add.Config); err != nil {
			return err
		}
	}
	return nil
}

// sayMoved lists what became of a client's own servers, under the given word.
func sayMoved(a *app, word string, moved, staying []imported) {
	for _, d := range moved {
		fmt.Fprintf(a.Stderr, "%s%s%s\n", word, d.Name, underName(a, d))
		for _, note := range d.Notes {
			fmt.Fprintf(a.Stderr, "  %s%s%s\n", d.Name, a.t(": ", "："), note)
		}
	}
	for _, d := range staying {
		fmt.Fprintf(a.Stderr, a.t("not moved: %s: %s\n", "未移动：%s：%s\n"), d.Name, d.Outcome)
	}
}

// ownName is the client's name for a server, when ours is another.
func ownName(t translation) string {
	if t.own == t.name {
		return ""
	}
	return t.own
}
