package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "mcp-all-in-one"

// vocabulary is what every package may import: whoever makes an error says it
// in both languages.
const vocabulary = "i18n"

// layers says which of our packages each package may import, beside the
// vocabulary. What is not listed here is not a package of this project.
var layers = map[string][]string{
	vocabulary:   {},
	"spare":      {},
	"spelling":   {},
	"logfile":    {},
	"jsonrpc":    {},
	"http1":      {},
	"config":     {"spelling"},
	"mcp":        {"jsonrpc", "config"},
	"traffic":    {"jsonrpc", "config"},
	"safehttp":   {"jsonrpc", "config"},
	"telemetry":  {"logfile", "jsonrpc", "config", "traffic", "safehttp"},
	"stdio":      {"jsonrpc", "spare", "config", "mcp", "traffic", "safehttp"},
	"mcphttp":    {"jsonrpc", "spare", "config", "mcp", "traffic", "safehttp", "http1"},
	"oauth":      {"jsonrpc", "config", "mcp", "traffic", "safehttp"},
	"access":     {"jsonrpc", "config", "mcp", "traffic", "safehttp"},
	"jsonschema": {},
	"catalog":    {"spelling", "jsonschema", "jsonrpc", "mcp", "config"},
	"upstream":   {"jsonrpc", "config", "mcp", "traffic", "safehttp", "stdio", "mcphttp", "oauth", "access", "catalog"},
	"builtin":    {"jsonschema", "jsonrpc", "mcp", "catalog", "config"},
	"gateway":    {"jsonschema", "jsonrpc", "mcp", "config", "traffic", "safehttp", "catalog", "upstream", "builtin", "access"},
	"probe":      {"spelling", "jsonschema", "jsonrpc", "mcp", "config", "traffic", "upstream", "stdio", "mcphttp", "catalog"},
	"web": {"jsonrpc", "config", "mcp", "traffic", "safehttp", "stdio", "mcphttp", "oauth", "access",
		"catalog", "upstream", "builtin", "gateway", "probe"},
	"cli": {"spelling", "jsonschema", "logfile", "jsonrpc", "config", "mcp", "traffic", "safehttp", "stdio", "mcphttp", "oauth", "access",
		"catalog", "upstream", "builtin", "gateway", "probe", "web", "mcptest", "telemetry", "http1"},
	"mcptest":                {"jsonrpc", "mcp", "stdio", "mcphttp"},
	"mcptest/cmd/fakeserver": {"mcptest"},
	"mcptest/sparing":        {},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsFollowTheLayers(t *testing.T) {
	for _, p := range goList(t, "./internal/...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/internal/")
		allowed, known := layers[name]
		if !known {
			t.Errorf("package internal/%s is not in the layer table", name)
			continue
		}
		for _, path := range p.Imports {
			dep, ours := strings.CutPrefix(path, module+"/internal/")
			if ours && dep != vocabulary && !slices.Contains(allowed, dep) {
				t.Errorf("internal/%s must not import internal/%s", name, dep)
			}
		}
	}
}

// forTests is what only tests may use: the peers that the gateway is held
// against among them.
var forTests = []string{"testing", "github.com/mark3labs/mcp-go", "github.com/modelcontextprotocol/go-sdk/mcp"}

func TestBinaryDoesNotLinkTesting(t *testing.T) {
	for _, p := range goList(t, "-deps", ".") {
		for _, path := range forTests {
			if p.ImportPath == path || strings.HasPrefix(p.ImportPath, path+"/") && path != "testing" {
				t.Errorf("the product imports package %s", p.ImportPath)
			}
		}
	}
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var list []listed
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("reading the output of go list: %v", err)
		}
		list = append(list, p)
	}
}
