package config_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestSandboxKey(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       config.Sandbox
		problem    string
	}{
		{"absent", `{}`, config.Sandbox{}, ""},
		{"off", `{"sandbox": "off"}`, config.Sandbox{Written: true}, ""},
		{"on", `{"sandbox": "on"}`, config.Sandbox{Written: true, On: true}, ""},
		{"object", `{"sandbox": {"read": ["/a"], "write": ["~/b"], "hosts": ["api.github.com", "*.Example.com:8443", "10.0.0.5:5432"], "unix": true}}`,
			config.Sandbox{Written: true, On: true, Read: []string{"/a"}, Write: []string{"/h/b"}, Unix: true,
				Hosts: config.Hosts{Listed: true, Names: []string{"api.github.com", "*.Example.com:8443", "10.0.0.5:5432"}}}, ""},
		{"no host", `{"sandbox": {"hosts": "none"}}`, config.Sandbox{Written: true, On: true, Hosts: config.Hosts{Listed: true}}, ""},
		{"any host", `{"sandbox": {"hosts": "any"}}`, config.Sandbox{Written: true, On: true}, ""},
		{"a slip", `{"sandbox": "yes"}`, config.Sandbox{}, `yes`},
		{"a boolean", `{"sandbox": false}`, config.Sandbox{}, `"on", "off" or an object`},
		{"a host that is none", `{"sandbox": {"hosts": ["https://x/"]}}`, config.Sandbox{}, "is not a host such as"},
		{"hosts as a text", `{"sandbox": {"hosts": "github.com"}}`, config.Sandbox{}, "a list of hosts"},
		{"a relative path", `{"sandbox": {"write": ["x"]}}`, config.Sandbox{}, `sandbox.write[0]: "x" is not an absolute path`},
	} {
		t.Run("install/key "+tt.name, func(t *testing.T) {
			text := `{"mcpServers": {"s": {"command": "x", ` + strings.TrimPrefix(tt.text, "{") + `}}`
			text = strings.Replace(text, ", }}", "}}", 1)
			o := configtest.Options(t, configtest.Write(t, "a.json", text), nil)
			o.Home = "/h"
			cfg, err := config.Load(o)
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

// TestApprovedServersAreConfined approves entries that a client and a project
// wrote.
func TestApprovedServersAreConfined(t *testing.T) {
	for _, project := range []bool{false, true} {
		t.Run(fmt.Sprintf("install/default project %v", project), func(t *testing.T) {
			path := configtest.Write(t, "mcp.json", `{"mcpServers": {"own": {"command": "x"}}}`)
			load := configtest.Options(t, path, nil)
			load.Project = project
			update(t, path, edit.WriteOptions{Load: load, Pending: true}, func(d *edit.Draft) error {
				return d.SetServer("", "new", []byte(`{"command": "y"}`))
			})
			server := func(name string) (*config.Config, *config.Server) {
				t.Helper()
				cfg := loaded(t, load)
				return cfg, cfg.Schemas[0].Server(name)
			}
			approve := func(how func(*approval.Record, string, string) error) {
				t.Helper()
				cfg, s := server("new")
				must.OK(t, how(cfg.Approvals(), s.ID(), s.ApprovalHash()))
			}
			linux := runtime.GOOS == "linux"
			approve((*approval.Record).Approve)
			if _, s := server("new"); s.Pending || s.Sandbox.On != linux {
				t.Errorf("approved: pending %v, confined %v", s.Pending, s.Sandbox.On)
			}
			if _, s := server("own"); s.Sandbox.On {
				t.Error("what a person has is confined")
			}
			if !project {
				// An edit by hand does not change the sandbox.
				must.Write(t, path, strings.Replace(must.Read(t, path), `"y"`, `"z"`, 1))
				if _, s := server("new"); s.Command != "z" || s.Pending || s.Sandbox.On != linux {
					t.Errorf("edited: pending %v, confined %v", s.Pending, s.Sandbox.On)
				}
			}
			approve((*approval.Record).ApproveUnconfined)
			if _, s := server("new"); s.Pending || s.Sandbox.On {
				t.Errorf("set free: pending %v, confined %v", s.Pending, s.Sandbox.On)
			}
		})
	}
}
