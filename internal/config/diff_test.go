package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	old := mustLoad(t, "a.json", `{"schemas": {
		"a": {"mcpServers": {"keep": {"command": "x"}, "change": {"command": "x"}, "policy": {"command": "x"}, "off": {"command": "x"}, "gone": {"command": "x"}, "rename": {"command": "r"}}},
		"b": {"mcpServers": {"s": {"command": "x"}}},
		"c": {"mcpServers": {"s": {"command": "x"}}}}}`, nil)
	new := mustLoad(t, "a.json", `{"schemas": {
		"a": {"mcpServers": {"added": {"command": "x"}, "renamed": {"command": "r"}, "off": {"command": "x", "enabled": false}, "policy": {"command": "x", "deny": ["t"], "timeout": 5}, "change": {"command": "x", "env": {"A": "b"}}, "keep": {"command": "x"}}},
		"d": {"mcpServers": {"s": {"command": "x"}}},
		"c": {"enabled": false, "mcpServers": {"s": {"command": "x"}}}}}`, nil)
	type names struct{ Added, Removed, Changed, Updated, Kept []string }
	got := map[string]names{}
	list := func(servers []*Server) (out []string) {
		for _, s := range servers {
			out = append(out, s.Name)
		}
		return out
	}
	for _, d := range Diff(old, new) {
		got[d.Schema] = names{list(d.Added), list(d.Removed), list(d.Changed), list(d.Updated), list(d.Kept)}
	}
	want := map[string]names{
		"a": {[]string{"added", "renamed"}, []string{"gone", "rename"}, []string{"off", "change"}, []string{"policy"}, []string{"keep"}},
		"b": {Removed: []string{"s"}},
		"c": {Removed: []string{"s"}},
		"d": {Added: []string{"s"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, d := range Diff(new, new) {
		if !d.Empty() {
			t.Errorf("a file differs from itself: %+v", d)
		}
	}
	if d := Diff(nil, old); len(d) != 3 || len(d[0].Added) != 6 {
		t.Errorf("from nothing: %+v", d)
	}
	if d := Diff(old, nil); len(d) != 3 || len(d[0].Removed) != 6 {
		t.Errorf("to nothing: %+v", d)
	}
}

// TestHashes changes one field at a time.
func TestHashes(t *testing.T) {
	base := Server{Name: "s", Type: TypeStdio, Command: "x", Args: []string{"a", "b"}, Share: "auto", Protocol: "auto"}
	for name, tt := range map[string]struct {
		change func(*Server)
		hash   bool // whether it must change
	}{
		"nothing":     {func(s *Server) {}, false},
		"name":        {func(s *Server) { s.Name = "t" }, false},
		"command":     {func(s *Server) { s.Command = "y" }, true},
		"args split":  {func(s *Server) { s.Args = []string{"ab"} }, true},
		"args joined": {func(s *Server) { s.Args = []string{"a b"} }, true},
		"env":         {func(s *Server) { s.Env = map[string]Secret{"A": "b"} }, true},
		"cwd":         {func(s *Server) { s.Cwd = "/" }, true},
		"url":         {func(s *Server) { s.URL = "http://h" }, true},
		"headers":     {func(s *Server) { s.Headers = map[string]Secret{"A": "b"} }, true},
		"inherit":     {func(s *Server) { s.InheritEnv.All = true }, true},
		"sandbox":     {func(s *Server) { s.Sandbox = Sandbox{On: true, Written: true} }, true},
		"share":       {func(s *Server) { s.Share = "all" }, true},
		"protocol":    {func(s *Server) { s.Protocol = "modern" }, true},
		"deny":        {func(s *Server) { s.Deny = []string{"x"} }, false},
		"timeout":     {func(s *Server) { s.Timeout = 1 }, false},
		"line":        {func(s *Server) { s.Line = 9 }, false},
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
