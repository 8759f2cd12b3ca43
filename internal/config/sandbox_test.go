package config

import (
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
