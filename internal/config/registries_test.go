package config_test

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
)

// Registries have distinct names, and tokens are sent only over TLS.
func TestRegistries(t *testing.T) {
	for name, tt := range map[string]struct{ list, fault string }{
		"absent":         {``, ""},
		"none":           {`[]`, ""},
		"https":          {`[{"name": "work", "url": "https://mcp.example.com", "token": "t", "names": ["com.acme/*"]}]`, ""},
		"this machine":   {`[{"name": "work", "url": "http://127.0.0.1:8080"}]`, ""},
		"plain http":     {`[{"name": "work", "url": "http://mcp.example.com"}]`, "https"},
		"no address":     {`[{"name": "work"}]`, "https"},
		"no name":        {`[{"url": "https://mcp.example.com"}]`, "no other registry"},
		"same name":      {`[{"name": "a", "url": "https://a.example"}, {"name": "a", "url": "https://b.example"}]`, "no other registry"},
		"official taken": {`[{"name": "official", "url": "https://a.example"}]`, "no other registry"},
		"sign-in":        {`[{"name": "work", "url": "https://mcp.example.com", "auth": {"clientId": "c", "issuer": "https://a.example", "allow": ["10.0.0.0/8"]}}]`, ""},
		"network":        {`[{"name": "work", "url": "https://mcp.example.com", "auth": {"allow": ["everywhere"]}}]`, "registries[0].auth"},
		"issuer":         {`[{"name": "work", "url": "https://mcp.example.com", "auth": {"issuer": "http://a.example"}}]`, "registries[0].auth"},
		"user":           {`[{"name": "work", "url": "https://mcp.example.com", "auth": {"perUser": true}}]`, "signed in to once"},
		"not an object":  {`["https://a.example"]`, "registries"},
	} {
		t.Run("install/registries/"+name, func(t *testing.T) {
			content := `{"mcpServers": {}}`
			if tt.list != "" {
				content = `{"registries": ` + tt.list + `, "mcpServers": {}}`
			}
			cfg, err := config.Check("a.json", []byte(content), config.LoadOptions{Home: t.TempDir()})
			if tt.fault == "" {
				if err != nil {
					t.Fatal(err)
				}
				if (cfg.Registries == nil) != (tt.list == "") {
					t.Errorf("absent and empty are not told apart: %#v", cfg.Registries)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("error %v, want %q", err, tt.fault)
			}
		})
	}
}
