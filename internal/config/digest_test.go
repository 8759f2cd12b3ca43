package config_test

import (
	"testing"

	"mcp-all-in-one/internal/config"
)

// Files that differ only in settings of one machine have the same digest.
func TestDigest(t *testing.T) {
	digest := func(content string) string {
		t.Helper()
		cfg, err := config.Check("a.json", []byte(content), config.LoadOptions{Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Digest()
	}
	section := func(node string) string {
		return `"cluster": {"node": "` + node + `", "peer": ":3096", "secret": "` + clusterSecret + `"}`
	}
	one := digest(`{` + section("a") + `, "audit": {"file": "audit.jsonl"}, "mcpServers": {"notes": {"url": "https://notes.example/mcp"}}}`)
	for name, tt := range map[string]struct {
		content string
		same    bool
	}{
		"another machine":   {`{"mcpServers": {"notes": {"url": "https://notes.example/mcp"}}, "logging": {"level": "debug"}, "audit": {"file": "/var/log/audit.jsonl"}, ` + section("b") + `}`, true},
		"another server":    {`{` + section("a") + `, "mcpServers": {"notes": {"url": "https://other.example/mcp"}}}`, false},
		"one server more":   {`{` + section("a") + `, "mcpServers": {"notes": {"url": "https://notes.example/mcp"}, "more": {"url": "https://more.example/mcp"}}}`, false},
		"another limit":     {`{` + section("a") + `, "limits": {"sessions": 7}, "mcpServers": {"notes": {"url": "https://notes.example/mcp"}}}`, false},
		"denied for a tool": {`{` + section("a") + `, "mcpServers": {"notes": {"url": "https://notes.example/mcp", "tools": {"x": false}}}}`, false},
	} {
		t.Run("cluster/digest/"+name, func(t *testing.T) {
			if same := digest(tt.content) == one; same != tt.same {
				t.Errorf("the same: %v, want %v", same, tt.same)
			}
		})
	}
}
