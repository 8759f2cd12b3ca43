package console

import (
	"context"

	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/api"
)

// consolePrograms connects the clients on this machine, like the command
// connect.
type consolePrograms struct {
	in  *instance.Instance
	env *env.Env
}

// List describes every client whose configuration file we know.
func (c *consolePrograms) List() []web.Program {
	made, err := clients.Connections()
	if err != nil {
		c.in.Log.Warn("reading the connections", "err", err)
	}
	list := []web.Program{}
	for _, cl := range clients.All() {
		path, found := clients.FileOf(c.env, &cl)
		_, undo := made[cl.ID]
		p := web.Program{ID: cl.ID, Name: cl.Name, File: path, Found: found, Undo: undo, Dials: cl.Remote != nil, Servers: []string{}}
		servers, err := clients.Read(c.env, &cl, path)
		if err != nil {
			p.Error, p.ErrorZH = i18n.Why(err).Both()
		}
		for _, s := range servers {
			if s.Name == clients.OwnEntry {
				p.Connected = true
			} else {
				p.Servers = append(p.Servers, s.Name)
			}
		}
		list = append(list, p)
	}
	return list
}

// change plans the change that the page asks for.
func (c *consolePrograms) change(a *env.Env, id string, how web.ConnectOptions) (*clients.Change, any, error) {
	cl, err := clients.Find(a, id)
	if err != nil {
		return nil, nil, i18n.Errorf("%w: %w", "%w：%w", err, api.ErrNotFound)
	}
	if how.Disconnect {
		change, err := clients.PlanDisconnect(a, cl)
		return change, nil, err
	}
	f := clients.ConnectFlags{Schema: how.Schema, All: how.Move}
	if how.URL {
		f.URL = c.in.URL + "/mcp"
		if how.Schema != "" {
			f.URL = c.in.URL + "/api/" + how.Schema + "/mcp"
		}
	}
	entry, err := clients.OwnEntryFor(a, cl, f)
	if err != nil {
		return nil, nil, err
	}
	change, err := clients.PlanConnect(a, cl, entry, f)
	return change, entry, err
}

// Plan returns what would change.
func (c *consolePrograms) Plan(id string, how web.ConnectOptions, lang i18n.Lang) (web.ConnectPlan, error) {
	a := c.env.Speaking(lang)
	change, entry, err := c.change(a, id, how)
	if err != nil {
		return web.ConnectPlan{}, err
	}
	plan := describeChange(change)
	if entry != nil {
		if alone, err := clients.Edit(change.Client, nil, clients.OwnEntry, entry); err == nil {
			plan.Snippet = string(alone)
		}
	}
	return plan, nil
}

// Apply makes exactly the change that was shown.
func (c *consolePrograms) Apply(ctx context.Context, id string, how web.ConnectOptions, mark string, lang i18n.Lang) (web.ConnectPlan, error) {
	a := c.env.Speaking(lang)
	change, _, err := c.change(a, id, how)
	if err != nil {
		return web.ConnectPlan{}, err
	}
	if markOf(change) != mark {
		return web.ConnectPlan{}, api.ErrChanged
	}
	if how.Disconnect {
		err = clients.EndConnection(ctx, a, change)
	} else if !change.Nothing() {
		err = clients.MakeConnection(ctx, a, change)
	}
	plan := describeChange(change)
	plan.Backup = change.Conn.Backup
	return plan, err
}

func markOf(c *clients.Change) string {
	return clients.HashOf([]byte(clients.HashOf(c.Before) + clients.HashOf(c.After)))
}

// describeChange returns a change in the form that the page shows.
func describeChange(change *clients.Change) web.ConnectPlan {
	plan := web.ConnectPlan{File: change.Conn.File, Mark: markOf(change), Moving: []string{}}
	for _, t := range change.Moving {
		plan.Moving = append(plan.Moving, t.Name)
	}
	if !change.Nothing() {
		plan.Diff = change.Diff()
	}
	return plan
}
