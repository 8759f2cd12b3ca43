package console

import (
	"context"
	"slices"

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

// Importable lists the servers of the clients on this machine. A file that
// cannot be read is an error of List.
func (c *consolePrograms) Importable(ctx context.Context, lang i18n.Lang) ([]web.Importable, error) {
	a := c.env.Speaking(lang)
	out := []web.Importable{}
	for _, cl := range clients.All() {
		if _, found := clients.FileOf(a, &cl); !found {
			continue
		}
		list, err := importable(a, cl.ID)
		if err != nil {
			return nil, err
		}
		would, err := clients.ImportAll(ctx, a, list, clients.ImportFlags{DryRun: true})
		if err != nil {
			return nil, err
		}
		out = append(out, describeImport(cl.ID, list, would)...)
	}
	return out, nil
}

// Import adds the servers that were shown and chosen.
func (c *consolePrograms) Import(ctx context.Context, chosen []web.Importable, lang i18n.Lang) ([]web.Importable, error) {
	a := c.env.Speaking(lang)
	out := []web.Importable{}
	adding := []clients.Translation{}
	for _, one := range chosen {
		list, err := importable(a, one.Program)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list, func(t clients.Translation) bool { return t.Name == one.Name && t.Mark() == one.Mark })
		if i < 0 {
			return nil, api.ErrChanged
		}
		adding = append(adding, list[i])
	}
	done, err := clients.ImportAll(ctx, a, adding, clients.ImportFlags{})
	if err != nil {
		return nil, err
	}
	for i := range done {
		out = append(out, describeImport(chosen[i].Program, adding[i:i+1], done[i:i+1])...)
	}
	return out, nil
}

// importable reads the servers of a client.
func importable(a *env.Env, id string) ([]clients.Translation, error) {
	cl, err := clients.Find(a, id)
	if err != nil {
		return nil, i18n.Errorf("%w: %w", "%w：%w", err, api.ErrNotFound)
	}
	source, err := clients.SourceOf(a, cl.ID)
	if err != nil {
		return nil, err
	}
	list, _ := clients.ReadImport(a, source, false)
	return list, nil
}

func describeImport(program string, list []clients.Translation, done []clients.Imported) []web.Importable {
	out := []web.Importable{}
	for i, t := range list {
		out = append(out, web.Importable{Program: program, Name: t.Name, Run: t.Line(), Adds: done[i].Added, Outcome: done[i].Outcome, Notes: done[i].Notes, Mark: t.Mark()})
	}
	return out
}
