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
	in  *Instance
	app *Env
}

// List describes every client that we know the file of.
func (c *consolePrograms) List() []web.Program {
	made, err := Connections()
	if err != nil {
		c.in.Log.Warn("reading the connections", "err", err)
	}
	list := []web.Program{}
	for _, cl := range All() {
		path, found := FileOf(c.app, &cl)
		_, undo := made[cl.ID]
		p := web.Program{ID: cl.ID, Name: cl.Name, File: path, Found: found, Undo: undo, Dials: cl.Remote != nil, Servers: []string{}}
		servers, err := Read(c.app, &cl, path)
		if err != nil {
			p.Error, p.ErrorZH = i18n.Why(err).Both()
		}
		for _, s := range servers {
			if s.Name == OwnEntry {
				p.Connected = true
			} else {
				p.Servers = append(p.Servers, s.Name)
			}
		}
		list = append(list, p)
	}
	return list
}

// change plans what the page asks for.
func (c *consolePrograms) change(a *Env, id string, how web.ConnectOptions) (*Change, any, error) {
	cl, err := Find(a, id)
	if err != nil {
		return nil, nil, i18n.Errorf("%w: %w", "%w：%w", err, web.ErrNotFound)
	}
	if how.Disconnect {
		change, err := PlanDisconnect(a, cl)
		return change, nil, err
	}
	f := ConnectFlags{Schema: how.Schema, All: how.Move}
	if how.URL {
		f.URL = c.in.URL + "/mcp"
		if how.Schema != "" {
			f.URL = c.in.URL + "/api/" + how.Schema + "/mcp"
		}
	}
	entry, err := OwnEntryFor(a, cl, f)
	if err != nil {
		return nil, nil, err
	}
	change, err := PlanConnect(a, cl, entry, f)
	return change, entry, err
}

// Plan says what would change.
func (c *consolePrograms) Plan(id string, how web.ConnectOptions, lang i18n.Lang) (web.ConnectPlan, error) {
	a := c.app.Speaking(lang)
	change, entry, err := c.change(a, id, how)
	if err != nil {
		return web.ConnectPlan{}, err
	}
	plan := describeChange(change)
	if entry != nil {
		if alone, err := Edit(change.Client, nil, OwnEntry, entry); err == nil {
			plan.Snippet = string(alone)
		}
	}
	return plan, nil
}

// Apply makes exactly the change that was shown.
func (c *consolePrograms) Apply(ctx context.Context, id string, how web.ConnectOptions, mark string, lang i18n.Lang) (web.ConnectPlan, error) {
	a := c.app.Speaking(lang)
	change, _, err := c.change(a, id, how)
	if err != nil {
		return web.ConnectPlan{}, err
	}
	if markOf(change) != mark {
		return web.ConnectPlan{}, web.ErrChanged
	}
	if how.Disconnect {
		err = EndConnection(ctx, a, change)
	} else if !change.Nothing() {
		err = MakeConnection(ctx, a, change)
	}
	plan := describeChange(change)
	plan.Backup = change.Conn.Backup
	return plan, err
}

func markOf(c *Change) string { return HashOf([]byte(HashOf(c.Before) + HashOf(c.After))) }

// describeChange is a change for the page to show.
func describeChange(change *Change) web.ConnectPlan {
	plan := web.ConnectPlan{File: change.Conn.File, Mark: markOf(change), Moving: []string{}}
	for _, t := range change.Moving {
		plan.Moving = append(plan.Moving, t.Name)
	}
	if !change.Nothing() {
		plan.Diff = change.Diff()
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
