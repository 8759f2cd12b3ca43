package edit

import (
	"errors"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config/configtest"
)

func TestAddSchema(t *testing.T) {
	add := func(d *Draft) error {
		if err := d.AddSchema("work"); err != nil {
			return err
		}
		return d.SetServer("work", "three", []byte(`{"command": "x"}`))
	}
	for name, before := range map[string]string{
		"a.json": jsonBefore, "a.yaml": yamlBefore, "empty.json": `{"mcpServers": {}}`,
		"schemas.json": `{"schemas": {"play": {"mcpServers": {}}}}`, "there.json": `{"schemas": {"work": {"mcpServers": {}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			after := update(t, name, before, add)
			cfg := configtest.MustLoad(t, name, after, nil)
			if s := cfg.Schema("work"); s == nil || s.Server("three") == nil {
				t.Fatalf("no server three in:\n%s", after)
			}
			if before == jsonBefore && cfg.Schema("default").Server("one") == nil {
				t.Errorf("the servers that were there are gone:\n%s", after)
			}
			// A new server of the default schema can still be added.
			if name == "empty.json" {
				again := update(t, name, after, func(d *Draft) error { return d.SetServer("", "one", []byte(`{"command": "y"}`)) })
				if configtest.MustLoad(t, name, again, nil).Schema("default").Server("one") == nil {
					t.Errorf("no server one in:\n%s", again)
				}
			}
		})
	}
}

func TestUnknownSchemaIsNamed(t *testing.T) {
	for name, content := range map[string]string{
		"a.json": jsonBefore, "schemas.json": `{"schemas": {"play": {"mcpServers": {}}}}`,
	} {
		path := configtest.Write(t, name, content)
		_, err := Update(path, WriteOptions{Load: configtest.Options(t, "", nil)}, func(d *Draft) error {
			return d.SetServer("work", "three", []byte(`{"command": "x"}`))
		})
		var missing *NameError
		if !errors.As(err, &missing) || missing.Name != "work" || len(missing.Known) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := configtest.Write(t, "a.json", `{"servers": {"a": {"command": "x"}}}`)
	_, err := Update(path, WriteOptions{Load: configtest.Options(t, "", nil)}, func(d *Draft) error { return d.AddSchema("work") })
	if err == nil || !strings.Contains(err.Error(), "under mcpServers first") {
		t.Errorf("a file without schemas: %v", err)
	}
}
