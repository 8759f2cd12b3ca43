package decisions

import (
	"fmt"
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
	{mcp.MethodDiscover, nil, []era{modern}, [...]string{all, all, all, all, without}},
	{mcp.MethodToolsList, nil, both, [...]string{all, all, reading, reading, without}},
	{mcp.MethodPromptsList, nil, both, [...]string{all, all, all, all, without}},
	{mcp.MethodResourcesList, nil, both, [...]string{all, all, all, all, without}},
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
						check(t, sessions[as+e.String()].ask(o.method, o.params, nil), o.told[kind])
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

// told describes the outcome of a request that the gateway answers itself.
func (a answer) told() string {
	has := func(part string) bool { return strings.Contains(a.raw, part) }
	list := has(`"tools":[`) || has(`"prompts":[`) || has(`"resources":[`)
	switch {
	case a.reason != let:
		return a.reason
	case has(server + "__" + tool), has(server + "__" + prompt), has(uri), has(skill), has("Instructions of " + server):
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
