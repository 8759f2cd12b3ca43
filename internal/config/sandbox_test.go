package config

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSandboxKey(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Sandbox
		problem    string
	}{
		{"absent", `{}`, Sandbox{}, ""},
		{"off", `{"sandbox": "off"}`, Sandbox{Written: true}, ""},
		{"on", `{"sandbox": "on"}`, Sandbox{Written: true, On: true}, ""},
		{"object", `{"sandbox": {"read": ["/a"], "write": ["~/b"], "hosts": ["api.github.com", "*.Example.com:8443", "10.0.0.5:5432"], "unix": true}}`,
			Sandbox{Written: true, On: true, Read: []string{"/a"}, Write: []string{"/h/b"}, Unix: true,
				Hosts: Hosts{Listed: true, Names: []string{"api.github.com", "*.Example.com:8443", "10.0.0.5:5432"}}}, ""},
		{"no host", `{"sandbox": {"hosts": "none"}}`, Sandbox{Written: true, On: true, Hosts: Hosts{Listed: true}}, ""},
		{"any host", `{"sandbox": {"hosts": "any"}}`, Sandbox{Written: true, On: true}, ""},
		{"a slip", `{"sandbox": "yes"}`, Sandbox{}, `yes`},
		{"a boolean", `{"sandbox": false}`, Sandbox{}, `"on", "off", an object`},
		{"a host that is none", `{"sandbox": {"hosts": ["https://x/"]}}`, Sandbox{}, "a host such as"},
		{"hosts as a text", `{"sandbox": {"hosts": "github.com"}}`, Sandbox{}, "a list of hosts"},
		{"a relative path", `{"sandbox": {"write": ["x"]}}`, Sandbox{}, "an absolute path"},
	} {
		t.Run("install/key "+tt.name, func(t *testing.T) {
			text := `{"mcpServers": {"s": {"command": "x", ` + strings.TrimPrefix(tt.text, "{") + `}}`
			text = strings.Replace(text, ", }}", "}}", 1)
			o := options(t, write(t, "a.json", text), nil)
			o.Home = "/h"
			cfg, err := Load(o)
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("error: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, cfg.Schemas[0].Servers[0].Sandbox); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestApprovedServersAreConfined approves what a client and a project wrote.
func TestApprovedServersAreConfined(t *testing.T) {
	for _, project := range []bool{false, true} {
		t.Run(fmt.Sprintf("install/default project %v", project), func(t *testing.T) {
			path := write(t, "mcp.json", `{"mcpServers": {"own": {"command": "x"}}}`)
			load := options(t, path, nil)
			load.Project = project
			if _, err := Update(path, WriteOptions{Load: load, Pending: true}, func(d *Draft) error {
				return d.SetServer("", "new", []byte(`{"command": "y"}`))
			}); err != nil {
				t.Fatal(err)
			}
			server := func(name string) (*Config, *Server) {
				t.Helper()
				cfg, err := Load(load)
				if err != nil {
					t.Fatal(err)
				}
				return cfg, cfg.Schemas[0].Server(name)
			}
			approve := func(how func(*Approvals, string, string) error) {
				t.Helper()
				cfg, s := server("new")
				if err := how(cfg.Approvals(), s.ID(), s.ApprovalHash()); err != nil {
					t.Fatal(err)
				}
			}
			linux := runtime.GOOS == "linux"
			approve((*Approvals).Approve)
			if _, s := server("new"); s.Pending || s.Sandbox.On != linux {
				t.Errorf("approved: pending %v, confined %v", s.Pending, s.Sandbox.On)
			}
			if _, s := server("own"); s.Sandbox.On {
				t.Error("what a person has is confined")
			}
			if !project {
				// Edited by hand, it stays where it is.
				text := strings.Replace(read(t, path), `"y"`, `"z"`, 1)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, s := server("new"); s.Command != "z" || s.Pending || s.Sandbox.On != linux {
					t.Errorf("edited: pending %v, confined %v", s.Pending, s.Sandbox.On)
				}
			}
			approve((*Approvals).ApproveUnconfined)
			if _, s := server("new"); s.Pending || s.Sandbox.On {
				t.Errorf("set free: pending %v, confined %v", s.Pending, s.Sandbox.On)
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
