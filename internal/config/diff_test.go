package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
)

func TestDiff(t *testing.T) {
	old := configtest.MustLoad(t, "a.json", `{"schemas": {
		"a": {"mcpServers": {"keep": {"command": "x"}, "change": {"command": "x"}, "policy": {"command": "x"}, "off": {"command": "x"}, "gone": {"command": "x"}, "rename": {"command": "r"}}},
		"b": {"mcpServers": {"s": {"command": "x"}}},
		"c": {"mcpServers": {"s": {"command": "x"}}}}}`, nil)
	new := configtest.MustLoad(t, "a.json", `{"schemas": {
		"a": {"mcpServers": {"added": {"command": "x"}, "renamed": {"command": "r"}, "off": {"command": "x", "enabled": false}, "policy": {"command": "x", "deny": ["t"], "timeout": 5}, "change": {"command": "x", "env": {"A": "b"}}, "keep": {"command": "x"}}},
		"d": {"mcpServers": {"s": {"command": "x"}}},
		"c": {"enabled": false, "mcpServers": {"s": {"command": "x"}}}}}`, nil)
	type names struct{ Settings, Added, Removed, Changed, Updated, Kept []string }
	got := map[string]names{}
	list := func(servers []*config.Server) (out []string) {
		for _, s := range servers {
			out = append(out, s.Name)
		}
		return out
	}
	for _, d := range config.Diff(old, new) {
		got[d.Schema] = names{d.Settings, list(d.Added), list(d.Removed), list(d.Changed), list(d.Updated), list(d.Kept)}
	}
	want := map[string]names{
		"a": {nil, []string{"added", "renamed"}, []string{"gone", "rename"}, []string{"off", "change"}, []string{"policy"}, []string{"keep"}},
		"b": {Settings: []string{"schemas.b"}, Removed: []string{"s"}},
		"c": {Settings: []string{"schemas.c.enabled"}, Removed: []string{"s"}},
		"d": {Settings: []string{"schemas.d"}, Added: []string{"s"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, d := range config.Diff(new, new) {
		if !d.Empty() {
			t.Errorf("a file differs from itself: %+v", d)
		}
	}
	if d := config.Diff(nil, old); len(d) != 3 || len(d[0].Added) != 6 {
		t.Errorf("from nothing: %+v", d)
	}
	if d := config.Diff(old, nil); len(d) != 3 || len(d[0].Removed) != 6 {
		t.Errorf("to nothing: %+v", d)
	}
}

// TestHashes changes one field at a time.
func TestHashes(t *testing.T) {
	base := config.Server{Name: "s", Type: config.TypeStdio, Command: "x", Args: []string{"a", "b"}, Share: "auto", Protocol: "auto"}
	for name, tt := range map[string]struct {
		change func(*config.Server)
		hash   bool // whether the hash must change
	}{
		"nothing":     {func(s *config.Server) {}, false},
		"name":        {func(s *config.Server) { s.Name = "t" }, false},
		"command":     {func(s *config.Server) { s.Command = "y" }, true},
		"args split":  {func(s *config.Server) { s.Args = []string{"ab"} }, true},
		"args joined": {func(s *config.Server) { s.Args = []string{"a b"} }, true},
		"env":         {func(s *config.Server) { s.Env = map[string]config.Secret{"A": "b"} }, true},
		"cwd":         {func(s *config.Server) { s.Cwd = "/" }, true},
		"url":         {func(s *config.Server) { s.URL = "http://h" }, true},
		"headers":     {func(s *config.Server) { s.Headers = map[string]config.Secret{"A": "b"} }, true},
		"inherit":     {func(s *config.Server) { s.InheritEnv.All = true }, true},
		"sandbox":     {func(s *config.Server) { s.Sandbox = config.Sandbox{On: true, Written: true} }, true},
		"share":       {func(s *config.Server) { s.Share = "all" }, true},
		"protocol":    {func(s *config.Server) { s.Protocol = "modern" }, true},
		"place":       {func(s *config.Server) { s.Place = config.PlaceOne }, true},
		"place each":  {func(s *config.Server) { s.Place = config.PlaceEach }, false},
		"deny":        {func(s *config.Server) { s.Deny = []string{"x"} }, false},
		"timeout":     {func(s *config.Server) { s.Timeout = 1 }, false},
		"line":        {func(s *config.Server) { s.Line = 9 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := base
			tt.change(&s)
			if got := s.Hash() != base.Hash(); got != tt.hash {
				t.Errorf("Hash changed: %v, want %v", got, tt.hash)
			}
		})
	}
}

// TestToolPoliciesAreNoticed changes one field of a tool's policy at a time: a
// running gateway reads the policy again only if Diff reports it.
func TestToolPoliciesAreNoticed(t *testing.T) {
	load := func(policy string) *config.Config {
		return configtest.MustLoad(t, "a.json", `{"mcpServers": {"s": {"command": "x", "tools": {"t": `+policy+`}}}}`, nil)
	}
	for _, policy := range []string{
		`{"enabled": true}`, `{"ask": true}`, `{"rename": "u"}`, `{"description": "d"}`, `{"timeout": 5}`, `{"results": {"limit": "10k"}}`,
	} {
		t.Run(policy, func(t *testing.T) {
			if d := config.Diff(load(`{}`), load(policy)); len(d[0].Updated) != 1 {
				t.Errorf("not noticed: %+v", d)
			}
			if d := config.Diff(load(policy), load(policy)); len(d[0].Kept) != 1 {
				t.Errorf("differs from itself: %+v", d)
			}
		})
	}
}
