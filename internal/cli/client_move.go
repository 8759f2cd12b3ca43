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
	Hash   string `json:"hash"` // of the entry, so that a later change shows
}

func entryHash(entry map[string]any) (string, error) {
	raw, err := json.Marshal(entry) // sorts the keys
	return hashOf(raw), err
}

// planMove sorts a client's servers into those that move behind us, and those
// that stay with it because moving would lose them.
func (a *app) planMove(change *clientChange, servers []foreign) error {
	have := a.haveEntries(change.into)
	for _, s := range servers {
		if s.name == ownEntry {
			continue
		}
		t, why := a.translate(change.client, s), ""
		switch {
		case t.skip != "":
			why = t.skip
		case have.compare(t) == "conflict":
			why = a.t("the gateway has another server of this name; rename one of the two", "网关已有同名但不同的服务；请重命名其中之一")
		}
		if why != "" {
			change.staying = append(change.staying, imported{Name: s.name, Outcome: why})
			continue
		}
		change.moving = append(change.moving, t)
		change.conn.Moved[s.name] = s.raw
		var err error
		if change.after, err = editClient(change.client, change.after, s.name, nil); err != nil {
			return a.clientError(change.conn.File, err)
		}
	}
	return nil
}

// moveServers writes what moves into our file, and notes what that added.
func (a *app) moveServers(ctx context.Context, change *clientChange) error {
	if len(change.moving) == 0 {
		return nil
	}
	var err error
	if change.moved, err = a.importAll(ctx, change.moving, importFlags{schema: change.into, storeSecrets: change.storeSecrets}); err != nil {
		return err
	}
	found, err := config.Discover(a.loadOptions(true))
	if err != nil {
		return err
	}
	for i, d := range change.moved {
		if !d.added {
			continue // it was there before
		}
		hash, err := entryHash(change.moving[i].entry)
		if err != nil {
			return err
		}
		change.conn.Added = append(change.conn.Added, addition{found.Path, change.into, d.Name, hash})
	}
	return nil
}

// planReturn finds what moving has put into our file and nobody has changed
// or needs since: it leaves when the client has it back.
func (a *app) planReturn(change *clientChange, all map[string]connection) {
	for _, add := range change.conn.Added {
		raw, err := a.rawEntry(add.Config, add.Schema, add.Name)
		var entry map[string]any
		if err != nil || json.Unmarshal(raw, &entry) != nil || entry == nil {
			continue // it is gone already
		}
		why := ""
		if hash, err := entryHash(entry); err != nil || hash != add.Hash {
			why = a.t("changed since; it stays with the gateway too", "此后已修改；网关中也保留")
		}
		for id, other := range all {
			if other.Moved[add.Name] != nil && id != change.client.id {
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
func (a *app) returnServers(ctx context.Context, leaving []addition) error {
	for _, add := range leaving {
		_, err := config.Update(add.Config, a.writeOptions(), func(d *config.Draft) error { return d.RemoveServer(add.Schema, add.Name) })
		if err != nil {
			return err
		}
		if _, err := a.reloadRunning(ctx, add.Config); err != nil {
			return err
		}
	}
	return nil
}

// sayMoved lists what became of a client's own servers, under the given word.
func (a *app) sayMoved(word string, moved, staying []imported) {
	for _, d := range moved {
		fmt.Fprintf(a.Stderr, "%s%s\n", word, d.Name)
		for _, note := range d.Notes {
			fmt.Fprintf(a.Stderr, "  %s%s%s\n", d.Name, a.t(": ", "："), note)
		}
	}
	for _, d := range staying {
		fmt.Fprintf(a.Stderr, a.t("not moved: %s: %s\n", "未移动：%s：%s\n"), d.Name, d.Outcome)
	}
}
