package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/mcptest/must"
)

var updateDocs = flag.Bool("update", false, "write the generated pages")

const docsDir = "../../docs"

// TestDocs compares the pages in docs with the code; go generate writes them.
func TestDocs(t *testing.T) {
	for name, want := range map[string][]byte{"config.md": config.Reference(), "config.schema.json": config.JSONSchema()} {
		path := filepath.Join(docsDir, name)
		if *updateDocs {
			configtest.Put(t, path, string(want))
			must.OK(t, os.Chmod(path, 0o644))
		}
		got := must.Read(t, path)
		if diff := cmp.Diff(got, string(want)); diff != "" {
			t.Errorf("%s is stale, run go generate ./internal/config (-file +code):\n%s", name, diff)
		}
	}
}

// TestSchemaAgrees checks with an independent validator that the JSON Schema
// accepts and refuses the same files as the code.
func TestSchemaAgrees(t *testing.T) {
	var s jsonschema.Schema
	must.Parse(t, config.JSONSchema(), &s)
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for content, ok := range map[string]bool{
		`{"mcpServers": {}}`: true,
		`{"$schema": "x", "mcpServers": {"a": {"command": "x", "args": ["a"], "env": {"http_proxy": "y", "N": 1}, "timeout": "5s", "inheritEnv": "all", "tools": {"t": {"enabled": false}, "u": false}}}}`:                                                                                                                 true,
		`{"server": {"port": 3095, "cors": {"enabled": true}}, "cli": {"stdio": {"timeout": 30000}}, "schemas": {"default": {"mcpServers": {"a": {"url": "https://h"}}}}, "logging": {"maxSize": "10MB"}, "limits": {"depth": 50, "callIdle": "1m"}, "answers": {"sampling": "yes", "elicitation": {"fields": {"a": 1}}}}`: true,
		`{"mcp_servers": [{"name": "a", "command": "x", "args": []}]}`: true,
		`{}`:                        false,
		`{"mcpServers": {"a": {}}}`: false,
		`{"mcpServers": {"a b": {"command": "x"}}}`:                false,
		`{"mcpServers": {"a": {"command": 5}}}`:                    false,
		`{"mcpServers": {"a": {"command": "x", "args": "a b"}}}`:   false,
		`{"mcpServers": {"a": {"command": "x", "share": "none"}}}`: false,
		`{"server": {"port": 70000}, "schemas": {}}`:               false,
		`{"schemas": {"1x": {}}}`:                                  false,
	} {
		var v any
		must.Parse(t, content, &v)
		if err := schema.Validate(v); (err == nil) != ok {
			t.Errorf("schema says %v of %s", err, content)
		}
		if _, err := config.Load(configtest.Options(t, configtest.Write(t, "a.json", content), nil)); (err == nil) != ok {
			t.Errorf("Load says %v of %s", err, content)
		}
	}
}
