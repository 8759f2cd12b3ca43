package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web"
)

// consolePrograms connects the clients on this machine, as connect does.
type consolePrograms struct {
	in  *instance
	app *app
}

// List describes every client that we know the file of.
func (c *consolePrograms) List() []web.Program {
	made, err := connections()
	if err != nil {
		c.in.log.Warn("reading the connections", "err", err)
	}
	list := []web.Program{}
	for _, cl := range clients() {
		path, found := clientFile(c.app, &cl)
		_, undo := made[cl.id]
		p := web.Program{ID: cl.id, Name: cl.name, File: path, Found: found, Undo: undo, Dials: cl.remote != nil, Servers: []string{}}
		servers, err := readClient(c.app, &cl, path)
		if err != nil {
			p.Error, p.ErrorZH = i18n.Why(err).Both()
		}
		for _, s := range servers {
			if s.name == ownEntry {
				p.Connected = true
			} else {
				p.Servers = append(p.Servers, s.name)
			}
		}
		list = append(list, p)
	}
	return list
}

// change plans what the page asks for.
func (c *consolePrograms) change(a *app, id string, how web.ConnectOptions) (*clientChange, any, error) {
	cl, err := findClient(a, id)
	if err != nil {
		return nil, nil, i18n.Errorf("%w: %w", "%w：%w", err, web.ErrNotFound)
	}
	if how.Disconnect {
		change, err := planDisconnect(a, cl)
		return change, nil, err
	}
	f := connectFlags{schema: how.Schema, all: how.Move}
	if how.URL {
		f.url = c.in.url + "/mcp"
		if how.Schema != "" {
			f.url = c.in.url + "/api/" + how.Schema + "/mcp"
		}
	}
	entry, err := ownEntryFor(a, cl, f)
	if err != nil {
		return nil, nil, err
	}
	change, err := planConnect(a, cl, entry, f)
	return change, entry, err
}

// Plan says what would change.
func (c *consolePrograms) Plan(id string, how web.ConnectOptions, lang i18n.Lang) (web.ConnectPlan, error) {
	a := c.app.speaking(lang)
	change, entry, err := c.change(a, id, how)
	if err != nil {
		return web.ConnectPlan{}, err
	}
	plan := describeChange(change)
	if entry != nil {
		if alone, err := editClient(change.client, nil, ownEntry, entry); err == nil {
			plan.Snippet = string(alone)
		}
	}
	return plan, nil
}

// Apply makes exactly the change that was shown.
func (c *consolePrograms) Apply(ctx context.Context, id string, how web.ConnectOptions, mark string, lang i18n.Lang) (web.ConnectPlan, error) {
	a := c.app.speaking(lang)
	change, _, err := c.change(a, id, how)
	if err != nil {
		return web.ConnectPlan{}, err
	}
	if markOf(change) != mark {
		return web.ConnectPlan{}, web.ErrChanged
	}
	if how.Disconnect {
		err = endConnection(ctx, a, change)
	} else if !change.nothing() {
		err = makeConnection(ctx, a, change)
	}
	plan := describeChange(change)
	plan.Backup = change.conn.Backup
	return plan, err
}

func markOf(c *clientChange) string { return hashOf([]byte(hashOf(c.before) + hashOf(c.after))) }

// describeChange is a change for the page to show.
func describeChange(change *clientChange) web.ConnectPlan {
	plan := web.ConnectPlan{File: change.conn.File, Mark: markOf(change), Moving: []string{}}
	for _, t := range change.moving {
		plan.Moving = append(plan.Moving, t.name)
	}
	if !change.nothing() {
		plan.Diff = change.diff()
	}
	return plan
}

// maskValues hides the values of an entry's environment and headers in a text.
func maskValues(text string, entry json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(entry, &fields) != nil {
		return text
	}
	values := hiddenValues(fields)
	for _, key := range []string{"command", "requestOptions"} { // as in older versions of Zed, and in Continue
		values = append(values, hiddenValues(object(fields[key]))...)
	}
	// The longest first: what is left of one that holds another would show.
	slices.SortFunc(values, func(v, w string) int { return len(w) - len(v) })
	for _, v := range values {
		if quoted, err := json.Marshal(v); err == nil {
			text = strings.ReplaceAll(text, string(quoted), `"`+web.Kept+`"`)
		}
		if len(v) >= 6 {
			text = strings.ReplaceAll(text, v, web.Kept)
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
