package pin

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/mcptest/must"
)

// The encoded file is JSON and reads back unchanged. A truncated file has no
// incomplete definitions.
func TestPinFile(t *testing.T) {
	f := newPinFile("main/\"quoted\"")
	f.of(Tool).learn([]catalog.Item{{Key: "b", Raw: []byte(`{"name":"b"}`)}, {Key: "a\u2028\x01", Raw: []byte(`{"name":"a","x":[1,{"y":"\u00e9"}]}`)}}, nil, false)
	f.of(Tool).learn([]catalog.Item{{Key: "b", Raw: []byte(`{"name":"b","title":"B"}`)}}, nil, false)
	f.of(Instructions).learn([]catalog.Item{{Key: Instructions, Raw: []byte(`"Be kind."`)}},
		map[string][]definition.Suspicion{Instructions: {{}}}, false)
	raw := f.appendTo(nil)

	var read struct {
		Server       string
		Tools        map[string]map[string]json.RawMessage
		Prompts      map[string]map[string]json.RawMessage
		Instructions map[string]map[string]json.RawMessage
	}
	must.Parse(t, raw, &read)
	if read.Server != f.server || len(read.Tools) != 2 || read.Prompts != nil || string(read.Tools["b"]["pending"]) != `{"name":"b","title":"B"}` ||
		read.Instructions[Instructions]["definition"] != nil || string(read.Instructions[Instructions]["pending"]) != `"Be kind."` {
		t.Errorf("%s", raw)
	}
	if again := readPinFile(f.server, raw).appendTo(nil); !bytes.Equal(again, raw) {
		t.Errorf("\n%s became\n%s", raw, again)
	}
	if other := readPinFile("main/other", raw); len(other.of(Tool)) != 0 {
		t.Error("another server's file is believed")
	}
	for i := range raw {
		for _, kind := range pinKinds {
			for name, p := range readPinFile(f.server, raw[:i]).of(kind) {
				if known := f.of(kind)[name]; known == nil || p.definition != nil && !bytes.Equal(p.definition, known.definition) {
					t.Fatalf("of %d bytes, %q is %s", i, name, p.definition)
				}
			}
		}
	}
}

// The definitions of a server are in the catalogue and in the file, but not in
// memory a second time.
func TestPinnerForgets(t *testing.T) {
	p := Checker{pins: Open(t.TempDir(), nil), id: "main/a"}
	items := []catalog.Item{{Key: "x", Raw: []byte(`{"name":"x"}`)}}
	for range 2 {
		if _, _, err := p.check(Tool, items, ""); err != nil || p.kept != nil {
			t.Fatalf("%v, kept %v", err, p.kept)
		}
	}
	items[0].Raw = []byte(`{"name":"x","title":"X"}`)
	if _, issues, err := p.check(Tool, items, ""); err != nil || len(issues) != 1 || p.kept != nil {
		t.Errorf("%v, %v, kept %v", issues, err, p.kept)
	}
}

// Definitions that cannot be written are still compared, both while the disk fails
// and afterwards.
func TestPinnerOnAFullDisk(t *testing.T) {
	pins := Open(t.TempDir(), nil)
	p := Checker{pins: pins, id: "main/a"}
	full := pins.file(p.id) + ".tmp" // a directory cannot be overwritten
	must.Folder(t, full)
	tool := []catalog.Item{{Key: "x", Raw: []byte(`{"name":"x"}`)}}
	other := []catalog.Item{{Key: "x", Raw: []byte(`{"name":"x","title":"X"}`)}}
	prompts := []catalog.Item{{Key: "p", Raw: []byte(`{"name":"p"}`)}}
	for kind, items := range map[string][]catalog.Item{Tool: tool, Prompt: prompts} {
		if _, _, err := p.check(kind, items, ""); err == nil {
			t.Fatal("the disk took it")
		}
	}
	if _, issues, err := p.check(Tool, other, ""); err == nil || len(issues) != 1 {
		t.Errorf("while it is full: %v, %v", issues, err)
	}
	must.OK(t, os.Remove(full))
	if _, _, err := p.check(Prompt, append(prompts, catalog.Item{Key: "q", Raw: []byte(`{"name":"q"}`)}), ""); err != nil || p.kept != nil {
		t.Fatalf("%v, kept %v", err, p.kept)
	}
	if list := pins.Changed(p.id); len(list) != 1 || list[0].Name != "x" {
		t.Errorf("when there is room again: %+v", list)
	}
}
