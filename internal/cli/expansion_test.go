package cli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/mcptest/random"
	"mcp-all-in-one/internal/secrets"
)

// keysOf returns the keys of a JSON Schema as documents that have the value in
// one place each.
func keysOf(schema map[string]any, value any) map[string]any {
	docs := map[string]any{}
	for name, raw := range schema["properties"].(map[string]any) {
		s := raw.(map[string]any)
		docs[name] = map[string]any{name: value}
		if s["properties"] != nil {
			for inner, doc := range keysOf(s, value) {
				docs[name+"."+inner] = map[string]any{name: doc}
			}
		}
		if items, ok := s["items"].(map[string]any); ok {
			docs[name+"[]"] = map[string]any{name: []any{value}}
			if items["properties"] != nil {
				for inner, doc := range keysOf(items, value) {
					docs[name+"[]."+inner] = map[string]any{name: []any{doc}}
				}
			}
		}
		if each, ok := s["additionalProperties"].(map[string]any); ok {
			docs[name+".*"] = map[string]any{name: map[string]any{"k": value}}
			if each["properties"] != nil {
				for inner, doc := range keysOf(each, value) {
					docs[name+".*."+inner] = map[string]any{name: map[string]any{"k": doc}}
				}
			}
		}
	}
	return docs
}

// TestNothingIsExpanded lets a client put references into every key, and
// searches everything that the gateway writes for the referenced values.
func TestNothingIsExpanded(t *testing.T) {
	t.Parallel()
	const secret = "LEAKED"
	dir := t.TempDir()
	s := &settings{t: t, path: filepath.Join(dir, "mcp.json")}
	held := filepath.Join(dir, "held.txt")
	for path, content := range map[string]string{held: secret + "-file", s.path: `{"mcpServers":{}}`} {
		must.Write(t, path, content)
	}
	store := secrets.NewFileStore(folders.UserDir(dir))
	must.OK(t, store.Set("held", secret+"-secret"))
	s.RawStdio = mcptest.StartStdio(t, mcptest.Program{
		Path: mcptest.BuildProduct(t), Args: []string{"stdio", "--watch", "-c", s.path},
		Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "HELD=" + secret + "-env"},
	})
	s.Initialize("2025-06-18", `{}`)
	var schema map[string]any
	must.Parse(t, config.JSONSchema(), &schema)
	server := schema["definitions"].(map[string]any)["server"].(map[string]any)
	group := schema["definitions"].(map[string]any)["schema"].(map[string]any)
	call := func(t *testing.T, where, tool string, arguments map[string]any) {
		t.Helper()
		raw := must.JSON(t, arguments)
		if text, _ := s.run(tool, string(raw)); strings.Contains(text, secret) {
			t.Errorf("%s: %s answers %s", where, tool, text)
		}
	}
	set := func(t *testing.T, where string, content any) {
		t.Helper()
		raw := must.JSON(t, content)
		call(t, where, "set-mcp-config", map[string]any{"config-content": string(raw), "apply": true})
		call(t, where, "validate-mcp-config", map[string]any{})
	}
	refs := []string{"${file:" + held + "}", "${HELD}", "${secret:held}"}
	if os.Getenv("TORTURE") == "" {
		refs = refs[random.New(t).IntN(len(refs)):][:1] // all of them are in the next one
	}
	for _, ref := range append(refs, "x ${secret:held} ${env:HELD} ${HELD} ${file:"+held+"}") {
		t.Run("door/3 "+strings.ReplaceAll(ref, dir, ""), func(t *testing.T) {
			for where, doc := range keysOf(server, ref) {
				for key, target := range map[string]string{"command": "true", "url": "http://127.0.0.1:9/"} {
					entry := map[string]any{key: target}
					maps.Copy(entry, doc.(map[string]any))
					set(t, where, map[string]any{"mcpServers": map[string]any{"x": entry}})
					entry["name"], entry["replace"], entry["apply"] = "y", true, true
					call(t, where, "add-mcp-server", entry)
				}
			}
			for where, doc := range keysOf(schema, ref) {
				doc.(map[string]any)["mcpServers"] = map[string]any{}
				set(t, where, doc)
			}
			for where, doc := range keysOf(group, ref) {
				set(t, where, map[string]any{"schemas": map[string]any{"default": doc}})
			}
		})
	}
	s.Finish(20 * time.Second)
	if strings.Contains(s.Stderr(), secret) {
		t.Errorf("door/3: the log has it: %s", firstLine(s.Stderr(), secret))
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == held || !d.Type().IsRegular() {
			return err
		}
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), secret) {
			t.Errorf("door/3: %s has it", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// firstLine returns the first line of a text that contains a word.
func firstLine(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return fmt.Sprintf("%.300s", line)
		}
	}
	return ""
}
