package decisions

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// A keyKind is a kind of key that asks for an answer of the gateway itself.
type keyKind int

const (
	aPlainKey keyKind = iota
	anAdmin
	aReader      // has readonly
	aReaderAdmin // has readonly and admin
	aBoundKey    // has server:other
	numKeyKinds
)

var keyKinds = [numKeyKinds]struct {
	name   string
	scopes []string
}{
	aPlainKey:    {"no scope", nil},
	anAdmin:      {"`admin`", []string{"admin"}},
	aReader:      {"`readonly`", []string{"readonly"}},
	aReaderAdmin: {"`admin readonly`", []string{"admin", "readonly"}},
	aBoundKey:    {"`server:other`", []string{"server:other"}},
}

// Outcomes of a request that the gateway answers itself.
const (
	answered = "answered"
	all      = "all"          // what the servers have, all of it
	more     = "all and own"  // that, and the tools that change the configuration
	reading  = "read-only"    // the tools that only read
	without  = "other's only" // nothing of the server that the key cannot see
)

// owns are the requests that the gateway answers itself, and what each kind of
// key is told.
var owns = []struct {
	method string
	params map[string]any
	eras   []era
	told   [numKeyKinds]string
}{
	{mcp.MethodPing, nil, []era{legacy}, [...]string{answered, answered, answered, answered, answered}},
	{mcp.MethodSetLevel, map[string]any{"level": "info"}, []era{legacy}, [...]string{answered, answered, answered, answered, answered}},
	{mcp.MethodInitialize, map[string]any{"protocolVersion": mcp.V2025_11_25, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "decisions", "version": "1"}},
		[]era{legacy}, [...]string{all, all, all, all, without}},
	{mcp.MethodDiscover, nil, []era{modern}, [...]string{all, all, all, all, without}},
	{mcp.MethodToolsList, nil, both, [...]string{all, more, reading, reading, without}},
	{mcp.MethodPromptsList, nil, both, [...]string{all, all, all, all, without}},
	{mcp.MethodResourcesList, nil, both, [...]string{all, all, all, all, without}},
	{mcp.MethodTemplatesList, nil, both, [...]string{all, all, all, all, without}},
	{mcp.MethodTasksList, nil, []era{legacy}, [...]string{answered, answered, answered, answered, answered}},
	{mcp.MethodSampling, map[string]any{"messages": []any{}, "maxTokens": 1}, []era{legacy}, [...]string{notFound, notFound, notFound, notFound, notFound}},
	{mcp.MethodElicit, map[string]any{"message": "?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}}, []era{legacy}, [...]string{notFound, notFound, notFound, notFound, notFound}},
	{mcp.MethodSkillsList, nil, both, [...]string{all, all, all, all, notFound}},
	{mcp.MethodToolsCall, map[string]any{"name": "mcp-all-in-one-show-mcp-config", "arguments": map[string]any{}}, both, [...]string{notFound, answered, notFound, notFound, notFound}},
	{mcp.MethodListen, map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}}, []era{modern}, [...]string{all, all, all, all, notFound}},
}

// TestOwnAnswers checks what each kind of key is told by the gateway itself, and
// that none is told anything while the gateway shuts down.
func TestOwnAnswers(t *testing.T) {
	t.Parallel()
	grants := map[string][]string{keyAdmin: {"admin"}}
	for kind, k := range keyKinds {
		grants[fmt.Sprint("kind", kind)] = k.scopes
	}
	w := newWorld(t, grants)
	w.start(map[string]any{"limits": map[string]any{"drain": "10m"}, "mcpServers": map[string]any{server: w.entry(server, nil), "other": w.entry("other", nil)}})
	w.startStdio()
	t.Cleanup(w.stop)
	w.until("the servers have started", func() bool {
		status, _, _ := w.do("GET", "/ready", "", nil, nil)
		return status == 200
	})
	if a := w.streamable("/mcp", keyAdmin, legacy).ask(mcp.MethodToolsCall, map[string]any{"name": server + "__" + tool, "arguments": hello.arguments, "task": map[string]any{}}, nil); !strings.Contains(a.raw, `"taskId"`) {
		t.Fatalf("no task: %v", a) // it is in the list of its key alone
	}
	sessions := map[string]session{}
	ask := func(t *testing.T, while string, check func(t *testing.T, a answer, want string)) {
		for _, o := range owns {
			for _, e := range o.eras {
				for kind := range keyKinds {
					as := fmt.Sprint("kind", kind)
					if sessions[as+e.String()] == nil {
						sessions[as+e.String()] = w.streamable("/mcp", as, e)
					}
					t.Run(fmt.Sprintf("door/9 %s %s %s of a key with %s", while, e, o.method, strings.Trim(keyKinds[kind].name, "`")), func(t *testing.T) {
						s := sessions[as+e.String()]
						if o.method == mcp.MethodInitialize { // it opens a session
							s = &streamable{w: w, path: "/mcp", as: as, era: e, header: firstHeader}
						}
						check(t, s.ask(o.method, o.params, nil), o.told[kind])
					})
				}
			}
		}
	}
	ask(t, "running", func(t *testing.T, a answer, want string) {
		if got := a.told(); got != want {
			t.Errorf("%q, want %q: %v", got, want, a)
		}
	})
	w.drain()
	ask(t, "draining", func(t *testing.T, a answer, _ string) {
		if a.reason != string(mcp.Draining) {
			t.Errorf("%v", a)
		}
	})
}

// elsewhere are the methods in the switches of the gateway that owns leaves out.
var elsewhere = map[string]string{
	mcp.MethodPromptsGet:    "a call to a server: the table of decisions",
	mcp.MethodResourcesRead: "a call to a server: the table of decisions",
	mcp.MethodSkillsGet:     "a call to a server: the table of decisions",
	mcp.MethodDirectoryRead: "a call to a server, like skills/get",
	mcp.MethodSubscribe:     "a call to a server: the table of decisions",
	mcp.MethodUnsubscribe:   "ends what a call to a server began",
	mcp.MethodShutdown:      "ends the session of who asks",
	mcp.MethodRootsList:     "tells nothing: only servers may ask for roots",
}

// TestOwnIsClosed checks that each method that the gateway answers in its own way is
// a row of owns, or is said to be tested elsewhere.
func TestOwnIsClosed(t *testing.T) {
	values := map[string]string{} // by the name of the constant
	constant := regexp.MustCompile(`\b(Method\w+)\s*=\s*"([^"]+)"`)
	files, err := filepath.Glob("../../internal/mcp/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllStringSubmatch(string(text), -1) {
			values[m[1]] = m[2]
		}
	}
	known := map[string]bool{}
	for _, o := range owns {
		known[o.method] = true
	}
	for file, function := range map[string]string{"session.go": "handle", "modern.go": "routeModern", "do.go": "do"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../../internal/gateway/"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != function {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Method") && values[s.Sel.Name] != "" {
					found++
					if method := values[s.Sel.Name]; !known[method] && elsewhere[method] == "" {
						t.Errorf("door/9 %s answers %s, and no row of owns says what each key is told", file, method)
					}
				}
				return true
			})
		}
		if found == 0 {
			t.Errorf("%s of %s has no methods", function, file)
		}
	}
}

// told describes the outcome of a request that the gateway answers itself.
func (a answer) told() string {
	has := func(part string) bool { return strings.Contains(a.raw, part) }
	list := has(`"tools":[`) || has(`"prompts":[`) || has(`"resources":[`) || has(`"resourceTemplates":[`)
	switch {
	case a.reason != let:
		return a.reason
	case has(server+"__"+tool) && has(`"mcp-all-in-one-add-mcp-server"`):
		return more
	case has(template), has(`"taskId"`), has(server + "__" + tool), has(server + "__" + prompt), has(uri), has(skill), has("Instructions of " + server):
		return all
	case has(server + "__look"):
		return reading
	case list, has("Instructions of other"):
		return without
	}
	return answered
}

// renderOwn returns the table of the page.
func renderOwn() string {
	var b strings.Builder
	b.WriteString("| request |")
	for _, k := range keyKinds {
		b.WriteString(" key with " + k.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(keyKinds)) + "\n")
	for _, o := range owns {
		name := "`" + o.method + "`"
		if tool, ok := o.params["name"].(string); ok {
			name += " of `" + tool + "`"
		}
		fmt.Fprintf(&b, "| %s |", name)
		for _, told := range o.told {
			fmt.Fprintf(&b, " %s |", told)
		}
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), "not_found", "not found")
}
