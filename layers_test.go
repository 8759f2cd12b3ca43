package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module in go.mod.
var module = func() string {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module ")
}()

// basic are the packages that every package may import: every package makes
// errors in both languages, and many match texts.
var basic = []string{"i18n", "lazy"}

// layers lists the packages that each package may import, besides the basic
// ones. Every package of this project must be listed.
var layers = map[string][]string{
	"i18n":               {},
	"lazy":               {},
	"pattern":            {},
	"lastbuf":            {},
	"weight":             {},
	"spelling":           {},
	"logfile":            {},
	"jsonrpc":            {},
	"jsonrpc/duplex":     {"jsonrpc"},
	"http1":              {},
	"disk":               {},
	"config/problem":     {},
	"config/steering":    {},
	"config/document":    {"config/problem"},
	"secrets":            {"spelling", "disk"},
	"seal":               {},
	"peer":               {"http1", "kept", "seal", "mcphttp/sse", "mcphttp", "mcp", "jsonrpc", "access", "rate", "traffic"},
	"record":             {"disk"},
	"cluster":            {"seal", "record"},
	"cluster/enginetest": {"cluster", "record", "seal"},
	"cluster/place":      {"cluster", "seal"},
	"cluster/natsengine": {"cluster"},
	"config/approval":    {"config/digest", "config/document", "config/layout", "config/problem", "config/variable", "disk", "folders", "record", "secrets"},
	"config/digest":      {},
	"config/layout":      {"config/document", "config/problem", "disk", "spelling"},
	"config/units":       {},
	"config/variable":    {"config/document", "disk", "secrets"},
	"config/edit":        {"config", "config/approval", "config/document", "config/layout", "config/problem", "disk", "record", "spelling"},
	"config":             {"config/units", "config/approval", "config/digest", "config/layout", "config/steering", "config/variable", "folders", "secrets", "config/document", "config/problem", "spelling", "disk"},
	"config/watch":       {"config", "config/approval", "config/document", "disk"},
	"folders":            {"disk"},
	"mcp":                {"jsonrpc"},
	"traffic":            {},
	"safehttp":           {},
	"usage":              {"disk", "folders", "traffic"},
	"telemetry":          {"logfile", "jsonrpc", "config", "mcp", "traffic", "safehttp"},
	"sandbox/launcher":   {},
	"sandbox":            {"folders", "sandbox/launcher", "config", "safehttp"},
	"stdio/lines":        {"jsonrpc", "lastbuf"},
	"stdio":              {"stdio/lines", "sandbox"},
	"mcphttp/sse":        {"jsonrpc"},
	"mcphttp/httpclient": {"http1", "jsonrpc", "jsonrpc/duplex", "mcp", "mcphttp/sse", "lastbuf"},
	"mcphttp":            {"weight", "jsonrpc", "jsonrpc/duplex", "config", "mcp", "traffic", "http1", "mcphttp/sse"},
	"mcphttp/origin":     {"jsonrpc", "mcp", "mcphttp"},
	"oauth":              {"record", "secrets", "disk", "config", "safehttp"},
	"access":             {"config/units", "record", "disk", "config", "safehttp"},
	"jsonschema":         {"pattern"},
	"definition":         {"jsonrpc"},
	"catalog/fit":        {"jsonschema", "jsonrpc"},
	"catalog/signature":  {"spelling", "jsonschema", "jsonrpc"},
	"catalog":            {"spelling", "jsonschema", "jsonrpc", "mcp", "definition", "catalog/fit", "catalog/signature"},
	"upstream/pin":       {"catalog", "config", "definition", "jsonrpc", "record"},
	"upstream/backoff":   {},
	"upstream/failure":   {"upstream/backoff", "config", "jsonrpc", "mcp", "mcphttp/httpclient", "mcphttp/sse", "oauth"},
	"upstream/greet":     {"upstream/failure", "upstream/modern", "jsonrpc", "mcp", "mcphttp/httpclient"},
	"upstream/inflight":  {"upstream/failure", "config", "jsonrpc", "mcp"},
	"upstream/listen":    {"upstream/backoff", "upstream/queue", "jsonrpc", "mcp", "mcphttp/httpclient"},
	"upstream/lists":     {"upstream/failure", "upstream/greet", "upstream/pin", "catalog", "config", "jsonrpc", "mcp"},
	"upstream/memory":    {"record"},
	"upstream/modern":    {"upstream/backoff", "catalog", "jsonrpc", "mcp"},
	"upstream/project":   {"jsonrpc"},
	"upstream/queue":     {"access", "config", "mcp"},
	"upstream/stored":    {"config", "jsonrpc", "jsonrpc/duplex", "mcp"},
	"upstream/hop":       {"stdio/lines", "jsonrpc", "jsonrpc/duplex"},
	"upstream/watch":     {"jsonrpc"},
	"upstream/observed":  {"catalog", "stdio"},
	"upstream/servers":   {"config", "upstream", "upstream/queue"},
	"upstream":           {"upstream/stored", "upstream/backoff", "upstream/failure", "upstream/greet", "upstream/hop", "upstream/inflight", "upstream/listen", "upstream/lists", "upstream/memory", "upstream/modern", "upstream/observed", "upstream/pin", "upstream/project", "upstream/queue", "upstream/watch", "sandbox", "secrets", "jsonrpc", "jsonrpc/duplex", "config", "mcp", "stdio", "oauth", "catalog", "mcphttp/httpclient"},
	"kept":               {"jsonrpc", "pattern"},
	"script":             {"stdio/lines", "jsonrpc", "jsonrpc/duplex", "stdio", "kept"},
	"builtin":            {"config/edit", "config/approval", "config/problem", "catalog/signature", "jsonschema", "jsonrpc", "mcp", "catalog", "config", "kept", "script"},
	"answers":            {"catalog", "config", "jsonrpc", "mcp", "safehttp"},
	"receipt":            {"catalog", "catalog/fit", "jsonrpc", "kept"},
	"gateway/addresses":  {"catalog", "record"},
	"gateway/entry":      {"jsonrpc", "mcp", "traffic", "usage"},
	"gateway/cache":      {"jsonrpc", "mcp"},
	"gateway/listen":     {"catalog", "gateway/view", "jsonrpc", "mcp"},
	"gateway/modern":     {"gateway/params", "gateway/refusal", "jsonrpc", "mcp", "seal"},
	"gateway/params":     {"catalog", "config", "jsonrpc", "jsonschema", "mcp"},
	"gateway/pressure":   {},
	"gateway/quota":      {"access", "config", "mcp", "weight"},
	"gateway/refusal":    {"access", "catalog", "gateway/params", "jsonrpc", "mcp"},
	"gateway/results":    {"builtin", "catalog", "config", "gateway/refusal", "jsonrpc", "kept", "mcp"},
	"gateway/roots":      {"jsonrpc", "upstream/project"},
	"gateway/start":      {"jsonrpc", "mcp", "upstream"},
	"gateway/scripts":    {"builtin", "config", "gateway/cache", "jsonrpc", "mcp", "script", "traffic"},
	"gateway/skills":     {"catalog", "jsonrpc", "mcp"},
	"gateway/tasks":      {"access", "catalog", "gateway/modern", "gateway/refusal", "jsonrpc", "mcp", "upstream", "upstream/backoff", "upstream/project"},
	"gateway/view":       {"builtin", "catalog", "jsonrpc", "mcp"},
	"gateway/visit":      {"access", "jsonrpc", "mcp", "upstream", "upstream/failure"},
	"gateway/welcome":    {"gateway/skills", "jsonrpc", "mcp"},
	"rate":               {"access", "config", "jsonrpc", "mcp"},
	"gateway":            {"weight", "rate", "receipt", "answers", "gateway/addresses", "gateway/entry", "gateway/listen", "gateway/modern", "gateway/params", "gateway/pressure", "gateway/quota", "gateway/refusal", "gateway/results", "gateway/roots", "gateway/scripts", "gateway/skills", "gateway/start", "gateway/tasks", "gateway/view", "gateway/visit", "gateway/welcome", "seal", "catalog/fit", "jsonrpc", "mcp", "config", "traffic", "usage", "catalog", "upstream", "upstream/servers", "upstream/project", "builtin", "access", "kept", "script", "gateway/cache"},
	"probe":              {"upstream/failure", "upstream/observed", "sandbox", "spelling", "jsonschema", "jsonrpc", "jsonrpc/duplex", "mcp", "config", "stdio", "catalog", "mcphttp/httpclient"},
	"tester/lint":        {"catalog", "jsonrpc", "probe"},
	"tester/record":      {"jsonrpc", "mcp", "probe"},
	"tester/history":     {"disk", "jsonrpc", "probe"},
	"tester/suite":       {"catalog", "jsonrpc", "mcp", "probe", "spelling", "tester/history", "tester/record"},
	"tester/eval":        {"catalog", "config", "disk", "jsonrpc", "kept", "mcp", "probe", "safehttp", "tester/suite"},
	"web/api":            {"access", "record"},
	"web/appframe":       {},
	"web/bench":          {"access", "config", "jsonrpc", "mcp", "probe", "tester/history", "web/api", "web/inbox"},
	"web/inbox":          {"access", "config", "safehttp", "traffic", "web/api"},
	"web/login":          {"access", "disk", "seal", "web/api"},
	"web/suites":         {"access", "disk", "probe", "tester/suite", "web/api"},
	"web/page":           {},
	"web/values":         {"access", "traffic", "web/page"},
	"sharing":            {"access", "config", "safehttp", "web/page"},
	"web/visit":          {},
	"web": {"access", "seal", "catalog", "gateway", "jsonrpc", "mcp", "oauth", "probe", "receipt", "tester/history", "tester/lint", "tester/record", "tester/suite", "traffic", "usage",
		"upstream/pin", "web/api", "web/appframe", "web/bench", "web/inbox", "web/login", "web/suites", "web/values", "web/visit"},
	"env":             {"config/edit", "config/approval", "folders", "record", "secrets", "config/problem", "spelling", "config"},
	"lock":            {"disk", "folders", "config/problem", "config", "sandbox"},
	"install":         {"folders", "disk", "spelling", "config", "config/steering", "safehttp", "definition", "env", "oauth"},
	"control":         {"folders", "receipt", "config/problem", "config", "env", "access", "upstream", "web", "web/api"},
	"clients":         {"disk", "config/edit", "folders", "config/document", "config/problem", "spelling", "jsonrpc", "config", "env", "control", "web/api"},
	"daemon/instance": {"weight", "definition", "kept", "sharing", "upstream/servers", "rate", "config/edit", "gateway/addresses", "gateway/modern", "gateway/visit", "upstream/failure", "upstream/memory", "upstream/pin", "folders", "disk", "record", "receipt", "cluster", "cluster/natsengine", "cluster/place", "peer", "seal", "secrets", "lock", "script", "jsonrpc", "jsonrpc/duplex", "config", "mcp", "traffic", "stdio", "oauth", "access", "catalog", "upstream", "builtin", "gateway", "probe", "web", "web/inbox", "web/values", "telemetry", "usage", "control"},
	"doctor":          {"daemon/certs", "folders", "spelling", "catalog", "upstream/failure", "cluster", "config/problem", "config", "stdio", "upstream", "web", "env", "control", "daemon/instance", "mcphttp/httpclient"},
	"daemon/console":  {"upstream/servers", "sandbox", "upstream/pin", "config/edit", "config/approval", "folders", "receipt", "config/problem", "jsonrpc", "config", "mcp", "traffic", "stdio", "oauth", "access", "catalog", "upstream", "gateway", "probe", "web", "env", "control", "clients", "doctor", "daemon/instance", "mcphttp/httpclient", "tester/lint", "tester/suite", "web/add", "web/api", "web/bench", "web/inbox", "web/suites", "web/values"},
	"install/offer":   {"config/edit", "folders", "secrets", "install", "config", "env", "jsonrpc", "oauth", "sandbox"},
	"web/add":         {"config/edit", "access", "config", "env", "install", "install/offer", "sandbox", "web/api"},
	"daemon/certs":    {"folders", "config", "config/problem", "safehttp"},
	"daemon": {"mcphttp/origin", "sharing", "stdio/lines", "config/watch", "folders", "upstream/hop", "record", "cluster", "peer", "config/problem", "daemon/certs", "logfile", "jsonrpc", "jsonrpc/duplex", "config", "mcp", "traffic", "stdio", "mcphttp", "http1", "access", "upstream", "gateway", "gateway/refusal", "gateway/visit", "web", "web/api",
		"telemetry", "env", "control", "daemon/instance", "daemon/console"},
	"cli/command": {"spelling", "config", "mcp", "env", "control", "daemon"},
	"cli/typed":   {"install", "stdio", "env"},
	"cli/output":  {"catalog/signature", "jsonrpc", "catalog", "probe", "env"},
	"cli/target": {"folders", "config/problem", "spelling", "jsonrpc", "config", "mcp", "traffic", "stdio", "oauth", "access", "catalog", "upstream", "gateway",
		"probe", "web", "web/inbox", "env", "control", "doctor", "daemon/instance", "cli/command", "cli/output", "cli/typed", "mcphttp/httpclient", "tester/history", "tester/record"},
	"cli/use": {"folders", "catalog/signature", "spelling", "jsonschema", "jsonrpc", "config", "mcp", "traffic", "catalog", "probe", "web", "web/inbox", "env", "control", "daemon/instance",
		"cli/command", "cli/output", "cli/target", "tester/history"},
	"cli/test": {"mcphttp/origin", "jsonrpc", "jsonrpc/duplex", "config", "mcp", "mcphttp", "access", "catalog", "gateway", "probe", "env", "control",
		"daemon", "daemon/instance", "mcpserver", "cli/command", "cli/output", "cli/target", "cli/use", "config/variable", "spelling", "tester/eval", "tester/lint", "tester/record", "tester/suite"},
	"service": {"disk", "logfile"},
	"upgrade": {"disk", "config", "safehttp"},
	"cli/run": {"folders", "receipt", "service", "config", "mcp", "access", "catalog", "upstream", "env", "control", "daemon", "daemon/instance",
		"mcpserver", "cli/command", "cli/output", "usage", "web"},
	"cli/manage": {"spelling", "clients", "mcp", "daemon/certs", "disk", "upstream/pin", "config/edit", "config/approval", "record", "cluster", "cluster/natsengine", "seal", "secrets", "config/problem", "install", "lock", "sandbox", "jsonrpc", "definition", "config", "oauth", "access", "catalog", "upstream", "web", "env", "control", "daemon/instance", "install/offer",
		"cli/command", "cli/target", "cli/typed", "cli/use", "probe", "mcphttp/httpclient", "tester/lint", "tester/suite"},
	"cli/client": {"config/edit", "jsonrpc", "config", "traffic", "web", "env", "control", "clients", "daemon", "daemon/instance",
		"cli/command", "tester/history"},
	"cli/other":   {"env", "doctor", "cli/command", "control", "mcp", "upgrade"},
	"cli/program": {"folders", "config/edit", "config/problem", "disk", "config", "mcp", "env", "control", "daemon", "cli/command", "cli/use", "cli/test"},
	"cli": {"stdio", "env", "cli/command", "cli/target", "cli/typed", "cli/use", "cli/run", "cli/manage", "cli/client", "cli/other",
		"cli/program"},
	"mcpserver":              {"stdio/lines", "jsonrpc", "jsonrpc/duplex", "mcp", "stdio", "mcphttp"},
	"mcptest":                {"jsonrpc", "jsonrpc/duplex", "mcp", "mcpserver"},
	"mcptest/cmd/fakeserver": {"mcpserver", "mcptest"},
	"mcptest/sparing":        {},
	"mcptest/corpus":         {},
	"mcptest/random":         {},
	"mcptest/must":           {},
	"config/configtest":      {"config", "config/problem"},
}

type listed struct {
	ImportPath string
	Dir        string
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
			if ours && !slices.Contains(basic, dep) && !slices.Contains(allowed, dep) {
				t.Errorf("internal/%s must not import internal/%s", name, dep)
			}
		}
		imported := importedAnywhere(t, p.Dir)
		for _, dep := range allowed {
			if !slices.Contains(imported, module+"/internal/"+dep) {
				t.Errorf("internal/%s does not import internal/%s: take it out of layers", name, dep)
			}
		}
	}
}

// importedAnywhere returns what the files of a package without tests import, on
// any system.
func importedAnywhere(t *testing.T, dir string) (list []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			list = append(list, strings.Trim(spec.Path.Value, `"`))
		}
	}
	return list
}

// A room is a package, and holds one idea.
const (
	maxLines   = 4000 // of the product in a package
	maxFiles   = 40   // of the product in a package
	maxMethods = 25   // of a type
)

// largeRooms are the packages above the limits, with their own limits and the
// reason.
var largeRooms = map[string]struct {
	lines, files int
	why          string
}{}

// largeTypes are the types with more methods than the limit, with their own
// limit and the reason.
var largeTypes = map[string]struct {
	methods int
	why     string
}{}

// TestRoomsAreSmall checks the size of every package and the number of methods
// of every type. An exception that is no longer needed is an error.
func TestRoomsAreSmall(t *testing.T) {
	methods := map[string]int{}
	for _, p := range goList(t, "./internal/...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/internal/")
		lines, files := measureRoom(t, p.Dir, name, methods)
		most, exempt := largeRooms[name]
		switch {
		case lines <= maxLines && files <= maxFiles:
			if exempt {
				t.Errorf("internal/%s has %d lines in %d files: take it out of largeRooms", name, lines, files)
			}
		case !exempt:
			t.Errorf("internal/%s has %d lines in %d files, at most %d and %d are wanted: move an idea of its own into a package, and add that to layers", name, lines, files, maxLines, maxFiles)
		case lines > max(most.lines, maxLines) || files > max(most.files, maxFiles):
			t.Errorf("internal/%s has grown to %d lines in %d files, past its entry in largeRooms: split it", name, lines, files)
		}
	}
	for name, n := range methods {
		if most, exempt := largeTypes[name]; n > max(most.methods, maxMethods) {
			t.Errorf("%s has %d methods, at most %d are wanted: give those of one idea a type of their own", name, n, max(most.methods, maxMethods))
		} else if exempt && n <= maxMethods {
			t.Errorf("%s has %d methods: take it out of largeTypes", name, n)
		}
	}
}

// measureRoom counts the lines and files of a package without tests, and adds
// the methods of its types. Methods for a single operating system count too.
func measureRoom(t *testing.T, dir, name string, methods map[string]int) (lines, files int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files++
		lines += bytes.Count(source, []byte("\n"))
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || receiver(f) == "" || seen[receiver(f)+"."+f.Name.Name] {
				continue
			}
			seen[receiver(f)+"."+f.Name.Name] = true
			methods[name+"."+receiver(f)]++
		}
	}
	return lines, files
}

// forTests are packages that only tests may use, among them the peers that the
// gateway is tested with.
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

// A program that executes templates finds methods by their names, so the linker
// keeps the exported methods of all types: a tenth of this program. cobra has
// templates, too, but only for programs that set one.
func TestBinaryExecutesNoTemplates(t *testing.T) {
	for _, p := range goList(t, "-deps", ".") {
		for _, path := range []string{"text/template", "html/template"} {
			if slices.Contains(p.Imports, path) && p.ImportPath != "html/template" && p.ImportPath != "github.com/spf13/cobra" {
				t.Errorf("%s imports %s: the binary grows by a tenth", p.ImportPath, path)
			}
		}
	}
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Imports"}, args...)...)
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
