package gateway

import (
	"context"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/gateway/skills"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// maxSkillPages is how many pages of one server's list are read.
const maxSkillPages = 100

// skillServers returns the servers that can answer a call about skills.
func (f *finder) skillServers(ctx context.Context, c *Call) []*upstream.Upstream {
	f.startup.awaitAll(ctx)
	if c.client.rules.Era == mcp.Modern {
		f.startup.meet(ctx, c.client)
	}
	var found []*upstream.Upstream
	for _, u := range f.upstreams() {
		f := u.Features(c.client.caller)
		if f == nil || c.Server != "" && u.Name() != c.Server {
			continue
		}
		if skills.Answers(f.Capabilities, c.Method) {
			found = append(found, u)
		}
	}
	return found
}

// listSkills joins the skills of all servers. With one server its pages pass
// unchanged; with several the result is one page.
func (d *dispatcher) listSkills(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	servers := d.finder.skillServers(ctx, c)
	switch len(servers) {
	case 0:
		return nil, jsonrpc.MethodNotFound(c.Method, "no server has skills")
	case 1:
		resp, err := d.attempt(ctx, c, &target{kind: skillsItem, upstream: servers[0], params: c.Params})
		if err == nil && resp.Err == nil {
			resp.Result = jsonrpc.Set(resp.Result, skills.In(d.look().All, servers[0].Name(), resp.Result), "skills")
			d.gw.opt.Addresses.Save()
		}
		return resp, err
	}
	if cursor := jsonrpc.Get(c.Params, "cursor"); len(cursor) > 0 && cursor[0] != 'n' {
		return nil, jsonrpc.InvalidParams("%v", catalog.ErrCursor)
	}
	list := []byte{'['}
	for _, u := range servers {
		list = d.skillsOf(ctx, c, u, list)
	}
	d.gw.opt.Addresses.Save()
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{}`), append(list, ']'), "skills")}, nil
}

// learnSkills lists the skills of all servers before the first read of a file
// that may belong to a skill: a client may have the address from an earlier run.
func (d *dispatcher) learnSkills(ctx context.Context, c *Call, uri string) {
	if _, _, known := d.look().All.SkillOf(uri); known || !strings.HasPrefix(uri, "skill://") || d.opening.Server != "" {
		return
	}
	at := d.gw.set.Revision()
	if last, _ := d.gw.skillsAt.Swap(d.opening.Schema+" "+d.scope, at); last == at {
		return
	}
	list := *c
	list.Method, list.Params = mcp.MethodSkillsList, []byte(`{}`)
	if _, err := d.listSkills(ctx, &list); err != nil {
		d.gw.log.Debug("learning of skills", "err", err)
	}
}

// skillsOf adds all skills of one server to a list. If the server fails, only
// its own skills are missing.
func (d *dispatcher) skillsOf(ctx context.Context, c *Call, u *upstream.Upstream, list []byte) []byte {
	t := &target{kind: skillsItem, upstream: u, params: jsonrpc.Set(jsonrpc.AsObject(c.Params), nil, "cursor")}
	for range maxSkillPages {
		resp, err := d.attempt(ctx, c, t)
		if err != nil || resp.Err != nil {
			d.gw.log.Warn("listing skills", "upstream", u.Name(), "err", orWire(err, resp))
			return list
		}
		list = skills.Append(list, skills.In(d.look().All, u.Name(), resp.Result))
		next, more := jsonrpc.GetString(resp.Result, "nextCursor")
		if !more || next == "" {
			return list
		}
		t.params = jsonrpc.Set(t.params, jsonrpc.Quote(next), "cursor")
	}
	return list
}

func orWire(err error, resp *jsonrpc.Response) error {
	if err != nil {
		return err
	}
	return resp.Err
}

// readSkill reads one skill or one folder, from the server that owns it, or
// from the first server that has it.
func (d *dispatcher) readSkill(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	uri, err := params.URI(c.Params)
	if err != nil {
		return nil, err
	}
	if err := params.CheckMeta(c.Params); err != nil {
		return nil, err
	}
	c.Target = uri
	servers := d.finder.skillServers(ctx, c)
	if len(servers) == 0 {
		return nil, jsonrpc.MethodNotFound(c.Method, "no server has this")
	}
	server, own, known := d.look().All.SkillOf(uri)
	if known {
		servers = slices.DeleteFunc(servers, func(u *upstream.Upstream) bool { return u.Name() != server })
	}
	for _, u := range servers {
		t := &target{kind: resourceItem, upstream: u, name: own, params: c.Params}
		if own != uri {
			t.params = jsonrpc.Set(t.params, jsonrpc.Quote(own), "uri")
		}
		resp, err := d.attempt(ctx, c, t)
		if err == nil && resp.Err == nil {
			resp.Result = skills.Write(d.look().All, u.Name(), c.Method, own != uri, resp.Result)
			if c.Method == mcp.MethodSkillsGet {
				d.gw.opt.Addresses.Save()
			}
			return resp, nil
		}
		if len(servers) == 1 {
			return resp, err
		}
	}
	return nil, d.notFound(c)
}
