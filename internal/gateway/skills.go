package gateway

import (
	"context"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// Skills: the extension io.modelcontextprotocol/skills (SEP-2640) as its stable
// specification of 2026-09 has it. The lists of all servers become one, and a
// skill or a folder is asked of the server that has it. The files of skills are
// resources and are read as such. A principal sees the skills of the servers
// whose resources it may read.

const (
	// maxSkillPages bounds what is taken of one server's list.
	maxSkillPages = 100
)

// joinedSkills are the settings of the extension for several servers: what one
// can do, we can.
func joinedSkills(a, b []byte) []byte {
	if len(b) == 0 || b[0] != '{' || string(jsonrpc.Get(a, "directoryRead")) == "true" {
		return jsonrpc.AsObject(a)
	}
	return b
}

// skillServers are the servers that a call about skills can be meant for.
func (s *Session) skillServers(ctx context.Context, c *Call) []*upstream.Upstream {
	s.settle(ctx)
	if c.client.rules.Era == mcp.Modern {
		s.meet(ctx, c.client)
	}
	var found []*upstream.Upstream
	for _, u := range s.upstreams() {
		f := u.Features(c.client.caller)
		if f == nil || c.Server != "" && u.Name() != c.Server {
			continue
		}
		settings := jsonrpc.Get(f.Capabilities, "extensions", mcp.SkillsExtension)
		if len(settings) == 0 || settings[0] != '{' {
			continue
		}
		if c.Method == mcp.MethodDirectoryRead && string(jsonrpc.Get(settings, "directoryRead")) != "true" {
			continue
		}
		found = append(found, u)
	}
	return found
}

// listSkills joins the skills of every server that has some. One server's own
// pages pass as they are; several become one page.
func (s *Session) listSkills(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	servers := s.skillServers(ctx, c)
	switch len(servers) {
	case 0:
		return nil, jsonrpc.MethodNotFound(c.Method, "no server has skills")
	case 1:
		resp, err := s.attempt(ctx, c, &target{kind: skillsItem, upstream: servers[0], params: c.Params})
		if err == nil && resp.Err == nil {
			resp.Result = jsonrpc.Set(resp.Result, s.skillsIn(servers[0].Name(), resp.Result), "skills")
			s.gw.opt.Addresses.Save()
		}
		return resp, err
	}
	if cursor := jsonrpc.Get(c.Params, "cursor"); len(cursor) > 0 && cursor[0] != 'n' {
		return nil, jsonrpc.InvalidParams("%v", catalog.ErrCursor)
	}
	list := []byte{'['}
	for _, u := range servers {
		list = s.skillsOf(ctx, c, u, list)
	}
	s.gw.opt.Addresses.Save()
	return &jsonrpc.Response{Result: jsonrpc.Set([]byte(`{}`), append(list, ']'), "skills")}, nil
}

// learnSkills lists the skills of all servers before the first file is read that
// may be a skill's: a client may know its address from before this process.
func (s *Session) learnSkills(ctx context.Context, c *Call, uri string) {
	if _, _, known := s.look().All.SkillOf(uri); known || !strings.HasPrefix(uri, "skill://") || s.opening.Server != "" {
		return
	}
	at := s.gw.set.Revision()
	if last, _ := s.gw.skillsAt.Swap(s.opening.Schema+" "+s.scope, at); last == at {
		return
	}
	list := *c
	list.Method, list.Params = mcp.MethodSkillsList, []byte(`{}`)
	if _, err := s.listSkills(ctx, &list); err != nil {
		s.gw.log.Debug("learning of skills", "err", err)
	}
}

// skillsOf adds all skills of one server to a list. A server that fails hides
// its own skills only.
func (s *Session) skillsOf(ctx context.Context, c *Call, u *upstream.Upstream, list []byte) []byte {
	t := &target{kind: skillsItem, upstream: u, params: jsonrpc.Set(jsonrpc.AsObject(c.Params), nil, "cursor")}
	for range maxSkillPages {
		resp, err := s.attempt(ctx, c, t)
		if err != nil || resp.Err != nil {
			s.gw.log.Warn("listing skills", "upstream", u.Name(), "err", orWire(err, resp))
			return list
		}
		if page := s.skillsIn(u.Name(), resp.Result); len(page) > len("[]") {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, page[1:len(page)-1]...)
		}
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

// skillsIn is the list of skills in a server's result, with the addresses that
// clients know, without those that the configuration hides.
func (s *Session) skillsIn(server string, result []byte) []byte {
	all := s.look().All
	return s.shownOf(server, jsonrpc.AsArray(jsonrpc.Get(result, "skills")), func(skill []byte) []byte { return all.WriteSkill(server, skill) })
}

// shownOf is a list of what has a uri, without what the configuration hides.
func (s *Session) shownOf(server string, list []byte, write func([]byte) []byte) []byte {
	all := s.look().All
	out := []byte{'['}
	for item := range jsonrpc.Elements(list) {
		if uri, ok := jsonrpc.GetString(item, "uri"); ok && !all.Lists(server, catalog.Resources, uri) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, write(item)...)
	}
	return append(out, ']')
}

// readSkill answers for one skill, or for one folder: by the server that it
// belongs to, or by the first that has it.
func (s *Session) readSkill(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	uri, err := uriOf(c.Params)
	if err != nil {
		return nil, err
	}
	if err := checkMeta(c.Params); err != nil {
		return nil, err
	}
	c.Target = uri
	servers := s.skillServers(ctx, c)
	if len(servers) == 0 {
		return nil, jsonrpc.MethodNotFound(c.Method, "no server has this")
	}
	server, own, known := s.look().All.SkillOf(uri)
	if known {
		servers = slices.DeleteFunc(servers, func(u *upstream.Upstream) bool { return u.Name() != server })
	}
	for _, u := range servers {
		t := &target{kind: resourceItem, upstream: u, name: own, params: c.Params}
		if own != uri {
			t.params = jsonrpc.Set(t.params, jsonrpc.Quote(own), "uri")
		}
		resp, err := s.attempt(ctx, c, t)
		if err == nil && resp.Err == nil {
			resp.Result = s.writeSkill(c, t, resp.Result)
			return resp, nil
		}
		if len(servers) == 1 {
			return resp, err
		}
	}
	return nil, s.notFound(c)
}

// writeSkill gives the answer about a skill or a folder the addresses that
// clients know. Who asks by an alias is answered in aliases.
func (s *Session) writeSkill(c *Call, t *target, result []byte) []byte {
	server := t.upstream.Name()
	byAlias := t.name != c.Target
	if c.Method == mcp.MethodDirectoryRead {
		files := s.shownOf(server, jsonrpc.AsArray(jsonrpc.Get(result, "resources")), func(file []byte) []byte {
			if byAlias {
				return catalog.AliasMember(server, file)
			}
			return file
		})
		return jsonrpc.Set(result, files, "resources")
	}
	skill := jsonrpc.Get(result, "skill")
	if len(skill) == 0 {
		return result
	}
	written := s.look().All.WriteSkill(server, skill)
	if byAlias {
		written = catalog.AliasSkill(server, skill)
	}
	s.gw.opt.Addresses.Save()
	return jsonrpc.Set(result, written, "skill")
}
