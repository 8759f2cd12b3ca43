package gateway

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/addresses"
	"mcp-all-in-one/internal/gateway/listen"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// skilled returns a server with one skill of its own and one that all servers
// have.
func skilled(t *testing.T, name, settings string) *raw {
	entry := func(skill string) string {
		return fmt.Sprintf(`{"uri":"skill://%s/SKILL.md","frontmatter":{"name":%q,"description":"of %s"},"resources":[{"uri":"skill://%s/SKILL.md","digest":"sha256:0","size":1},{"uri":"skill://%s/a/b.md","digest":"sha256:0","size":1}]}`,
			skill, skill, name, skill, skill)
	}
	return newRaw(t, `{"resources":{"subscribe":true},"extensions":{"io.modelcontextprotocol/skills":`+settings+`}}`, map[string]string{
		mcp.MethodResourcesList: `{"resources":[]}`, mcp.MethodTemplatesList: `{"resourceTemplates":[]}`,
		mcp.MethodSkillsList:    `{"skills":[` + entry("shared") + `,` + entry(name) + `]}`,
		mcp.MethodSkillsGet:     `{"skill":` + entry("shared") + `}`,
		mcp.MethodDirectoryRead: `{"resources":[{"uri":"skill://shared/a/b.md","name":"b.md"}]}`,
		mcp.MethodResourcesRead: `{"contents":[{"uri":"skill://shared/SKILL.md","text":"` + name + `"}]}`,
		mcp.MethodSubscribe:     `{}`, mcp.MethodUnsubscribe: `{}`,
	})
}

func inOrder(c *config.Config) {
	slices.SortFunc(c.Schemas[0].Servers, func(a, b *config.Server) int { return strings.Compare(a.Name, b.Name) })
}

// urisOf returns the uri members of a list's items.
func urisOf(result, list string) (uris []string) {
	for item := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get([]byte(result), list))) {
		uri, _ := jsonrpc.GetString(item, "uri")
		uris = append(uris, uri)
	}
	return uris
}

func codeOf(t *testing.T, s *Session, method, params string) int64 {
	t.Helper()
	resp, err := s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: method, Params: []byte(params)})
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return wire.Code
	}
	if err != nil || resp.Err == nil {
		t.Fatalf("%s %s: %v, %+v", method, params, err, resp)
	}
	return resp.Err.Code
}

func TestSkills(t *testing.T) {
	a, b := skilled(t, "a", `{}`), skilled(t, "b", `{"directoryRead":true}`)
	g := newGateway(t, map[string]string{"a": a.URL, "b": b.URL}, func(c *config.Config) {
		inOrder(c)
		off := false
		c.Schemas[0].Servers[0].Resources = map[string]config.Policy{"skill://a/SKILL.md": {Enabled: &off}}
	})
	s := open(t, g, "", mcp.V2025_11_25, `{}`)
	t.Run("true/5 advertised to a client that announces nothing", func(t *testing.T) {
		if caps := string(s.capabilities(t.Context(), requestClient{caller: s.caller, rules: s.rules})); !strings.Contains(caps, `"io.modelcontextprotocol/skills":{"directoryRead":true}`) {
			t.Error(caps)
		}
	})
	all := ask(t, s, mcp.MethodSkillsList, `{}`)
	t.Run("true/5 what the configuration hides", func(t *testing.T) {
		want := []string{"skill://shared/SKILL.md", "skill://~b/shared/SKILL.md", "skill://b/SKILL.md"}
		if got := urisOf(all, "skills"); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if code := codeOf(t, s, mcp.MethodSkillsGet, `{"uri":"skill://~a/a/SKILL.md"}`); code != jsonrpc.CodeInvalidParams {
			t.Errorf("code %d", code)
		}
	})
	t.Run("true/5 a legacy client by an alias", func(t *testing.T) {
		const alias = `{"uri":"skill://~b/shared/SKILL.md"}`
		got := ask(t, s, mcp.MethodSkillsGet, alias)
		if strings.Count(got, "skill://~b/shared/") != 3 || strings.Contains(got, "skill://shared") || !strings.Contains(got, "of b") {
			t.Error(got)
		}
		if got := ask(t, s, mcp.MethodResourcesRead, alias); got != `{"contents":[{"uri":"skill://~b/shared/SKILL.md","text":"b"}]}` {
			t.Error(got)
		}
		if got := urisOf(ask(t, s, mcp.MethodDirectoryRead, `{"uri":"skill://~b/shared/a"}`), "resources"); !slices.Equal(got, []string{"skill://~b/shared/a/b.md"}) {
			t.Error(got)
		}
	})
	t.Run("true/5 a server that reads no directories", func(t *testing.T) {
		if code := codeOf(t, s, mcp.MethodDirectoryRead, `{"uri":"skill://shared/a"}`); code != jsonrpc.CodeInvalidParams {
			t.Errorf("code %d", code)
		}
	})
	t.Run("true/5 one server by its own names", func(t *testing.T) {
		one := open(t, g, "b", mcp.V2025_11_25, `{}`)
		if got := ask(t, one, mcp.MethodSkillsList, `{}`); got != b.results[mcp.MethodSkillsList] {
			t.Error(got)
		}
	})
	for _, method := range []string{"Skills/list", " skills/list", "skills /get", "SKILLS/GET", "skills/delete", "resources/directory/write"} {
		t.Run("true/5 no other way in: "+method, func(t *testing.T) {
			if code := codeOf(t, s, method, `{"uri":"skill://shared/SKILL.md"}`); code != jsonrpc.CodeMethodNotFound {
				t.Errorf("code %d", code)
			}
		})
	}
}

// TestSkillsAreLearnt checks that a client can read an address that it knows
// from before, without listing first.
func TestSkillsAreLearnt(t *testing.T) {
	a, b := skilled(t, "a", `{}`), skilled(t, "b", `{}`)
	for _, r := range []*raw{a, b} {
		r.results[mcp.MethodTemplatesList] = `{"resourceTemplates":[{"uriTemplate":"skill://{+path}","name":"files"}]}`
	}
	g := newGateway(t, map[string]string{"a": a.URL, "b": b.URL}, inOrder)
	for uri, owner := range map[string]string{"skill://b/a/b.md": "b", "skill://a/SKILL.md": "a", "skill://shared/a/b.md": "a", "skill://~b/other": "b"} {
		t.Run("true/5 read at once "+uri, func(t *testing.T) {
			if got := ask(t, open(t, g, "", mcp.V2025_11_25, `{}`), mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`); !strings.Contains(got, `"text":"`+owner+`"`) {
				t.Error(got)
			}
		})
	}
}

func TestSkillsInScope(t *testing.T) {
	a, b := skilled(t, "a", `{}`), skilled(t, "b", `{"directoryRead":true}`)
	g := newGateway(t, map[string]string{"a": a.URL, "b": b.URL}, inOrder)
	open(t, g, "", mcp.V2025_11_25, `{}`)
	for name, c := range map[string]struct {
		grant access.Grant
		want  []string
	}{
		"one server":    {access.Grant{Servers: []string{"b"}}, []string{"skill://~b/shared/SKILL.md", "skill://b/SKILL.md"}},
		"a tool alone":  {access.Grant{Tools: []string{"b__x"}}, nil},
		"reading alone": {access.Grant{ReadOnly: true}, []string{"skill://shared/SKILL.md", "skill://a/SKILL.md", "skill://~b/shared/SKILL.md", "skill://b/SKILL.md"}},
	} {
		t.Run("true/5 who may see: "+name, func(t *testing.T) {
			ask(t, open(t, g, "", mcp.V2025_11_25, `{}`), mcp.MethodSkillsList, `{}`)
			s := opened(t, g, Opening{Who: access.Principal{ID: "key:k", Grant: c.grant}, Schema: config.DefaultSchema, Session: true, Client: nobody{}})
			resp, err := s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: mcp.MethodSkillsList, Params: []byte(`{}`)})
			var got []string
			if err == nil && resp.Err == nil {
				got = urisOf(string(resp.Result), "skills")
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q (%v)", got, c.want, err)
			}
			for _, uri := range []string{"skill://~a/a/SKILL.md", "skill://a/SKILL.md"} {
				if slices.Contains(c.want, "skill://a/SKILL.md") {
					continue
				}
				if code := codeOf(t, s, mcp.MethodSkillsGet, `{"uri":"`+uri+`"}`); code != jsonrpc.CodeInvalidParams && code != jsonrpc.CodeMethodNotFound {
					t.Errorf("%s: code %d", uri, code)
				}
			}
		})
	}
}

func TestAddressesOutliveTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "addresses.json")
	first := addresses.Open(path)
	for _, server := range []string{"b", "a"} {
		if got, want := addressAt(t, first, server), map[string]string{"b": "ui://app", "a": "ui://~a/app"}[server]; got != want {
			t.Fatalf("%s has %s, want %s", server, got, want)
		}
	}
	t.Run("true/6 after a restart without the first", func(t *testing.T) {
		again := addresses.Open(path)
		if got := addressAt(t, again, "a"); got != "ui://~a/app" {
			t.Errorf("a has %s", got)
		}
		if got := addressAt(t, again, "b"); got != "ui://app" {
			t.Errorf("b has %s", got)
		}
	})
}

// addressAt returns the address of the only resource of a server.
func addressAt(t *testing.T, file *addresses.File, server string) string {
	t.Helper()
	r := newRaw(t, `{"resources":{}}`, map[string]string{
		mcp.MethodResourcesList: `{"resources":[{"uri":"ui://app","name":"app"}]}`, mcp.MethodTemplatesList: `{"resourceTemplates":[]}`,
	})
	g := newGateway(t, map[string]string{server: r.URL}, nil)
	g.opt.Addresses = file
	return urisOf(ask(t, open(t, g, "", mcp.V2025_11_25, `{}`), mcp.MethodResourcesList, `{}`), "resources")[0]
}

// A hearer is a client that stores its notifications.
type hearer struct {
	nobody
	told chan string
}

func (h hearer) Notify(_ context.Context, n *jsonrpc.Notification) error {
	uri, _ := jsonrpc.GetString(n.Params, "uri")
	h.told <- uri
	return nil
}

// TestSubscriptionsByAlias checks that a client that subscribes by an alias
// gets notifications with that alias.
func TestSubscriptionsByAlias(t *testing.T) {
	a, b := skilled(t, "a", `{}`), skilled(t, "b", `{}`)
	g := newGateway(t, map[string]string{"a": a.URL, "b": b.URL}, inOrder)
	h := hearer{told: make(chan string, 1)}
	s := open(t, g, "", mcp.V2025_11_25, `{}`)
	s.opening.Client = h
	const alias, own = "skill://~b/shared/SKILL.md", "skill://shared/SKILL.md"
	changed := &jsonrpc.Notification{Method: mcp.NotificationUpdated, Params: []byte(`{"uri":"` + own + `"}`)}
	t.Run("true/6 a legacy client", func(t *testing.T) {
		ask(t, s, mcp.MethodSubscribe, `{"uri":"`+alias+`"}`)
		if got := b.sent(t, mcp.MethodSubscribe); !strings.Contains(got, `"`+own+`"`) {
			t.Errorf("the server was asked %s", got)
		}
		s.subscriptions.Updated(t.Context(), "b", changed)
		if got := <-h.told; got != alias {
			t.Errorf("told of %s", got)
		}
	})
	t.Run("true/6 a modern client", func(t *testing.T) {
		l, _ := listen.NewStream(listen.Client{Look: s.look, Rename: s.nameTask}, h, nil)
		l.Note(alias)
		l.Updated(t.Context(), "b", changed)
		if got := <-h.told; got != alias {
			t.Errorf("told of %s", got)
		}
	})
	t.Run("true/6 the end of a session", func(t *testing.T) {
		s.Close()
		if got := b.sent(t, mcp.MethodUnsubscribe); !strings.Contains(got, `"`+own+`"`) {
			t.Errorf("the server was asked %s", got)
		}
	})
}
