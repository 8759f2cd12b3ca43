// Package builtin is our own tools: inspect, exec and run of the compact modes,
// and those by which a client looks after our configuration.
package builtin

import (
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/script"
)

// Server is the name under which our own tools stand among the tools of the
// servers. No configured server can have it.
const Server = "\x00builtin"

// An Asker asks the client of a call.
type Asker func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error)

// An Env is what a tool of ours may reach on behalf of its caller.
type Env struct {
	// Principal is the id of the caller's principal.
	Principal string
	// Agreed are the servers that a person has agreed to lose by this call.
	Agreed []string
	// Catalog is everything that can be reached now, Visible what of it the
	// caller may see; nil means all.
	Catalog func() *catalog.Catalog
	Visible catalog.Visible
	// Call calls a tool of a server as the caller itself would: progress,
	// cancellation and questions included. arguments is nil when there are
	// none.
	Call func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error)
	// Ask asks the caller's client; it fails where the client does not offer
	// that.
	Ask Asker
	// OpensURL says that the client takes the error that asks for a visit to a URL.
	OpensURL bool

	// Read and Prompt read a resource and get a prompt as the caller itself
	// would.
	Read   func(ctx context.Context, uri string) (*jsonrpc.Response, error)
	Prompt func(ctx context.Context, server, name string, arguments []byte) (*jsonrpc.Response, error)
	// Keep keeps a text for the caller and returns its URI; Kept returns it.
	Keep func(text []byte) (uri string, err error)
	Kept func(uri string) (kept.Result, error)
	// JQ reads parts of kept results by jq.
	JQ kept.Filter
	// ReadLimit is how much of a kept result is shown at once.
	ReadLimit int64
	// Script runs a script within Limits; Job, where it is set, changes one
	// before it runs.
	Script func(ctx context.Context, job *script.Job, asked jsonrpc.Handler) (*script.Outcome, error)
	Limits script.Limits
	// Inner says that a script calls: it gets the whole value, and nothing else.
	Inner bool
	Job   func(*script.Job)
	// Lang is what the person at the command line reads; clients read English.
	Lang i18n.Lang
	// Progress tells the caller that a script goes on; nil where it does not
	// want to know. Saved hears what a script kept out of the context.
	Progress func(ctx context.Context, message string)
	Saved    func(calls int, inner, shown catalog.Cost)
}

// A Tool is one tool of ours.
type Tool struct {
	Name string
	// Definition is the raw item of tools/list.
	Definition []byte
	// Compact says that the tool stands for the servers' tools. The others
	// look after the configuration.
	Compact bool
	// Script says that it runs a script, Reader that it reads on in kept
	// results.
	Script, Reader bool
	// Code is the script, where the tool is one.
	Code string
	// Removes are the ids of the servers of a person's that a call would remove;
	// nil where it removes none, whatever its arguments. A person is asked first.
	Removes func(arguments []byte) []string
	// Run answers a call; arguments is nil when the caller gave none. An error
	// of type *jsonrpc.Error is answered as it is.
	Run func(ctx context.Context, env *Env, arguments []byte) (*jsonrpc.Response, error)
}

// A Set is tools that are shown together. It is immutable.
type Set struct {
	Tools    []Tool
	features *catalog.Features
}

// NewSet returns the set of the given tools.
func NewSet(tools []Tool) *Set {
	s := &Set{Tools: tools, features: &catalog.Features{Capabilities: []byte(`{"tools":{}}`)}}
	var page []byte
	for i, t := range tools {
		if i > 0 {
			page = append(page, ',')
		}
		page = append(page, t.Definition...)
		if t.Reader {
			s.features.Templates = keptTemplates
		}
	}
	s.features.Tools, _ = catalog.ParseTools([][]byte{append(append([]byte(`{"tools":[`), page...), `]}`...)})
	return s
}

// Source is the set as one more server of a catalogue, under its own names.
func (s *Set) Source() catalog.Source {
	return catalog.Source{Server: Server, Features: s.features, Policy: catalog.Policy{Naming: catalog.NamingNone}}
}

// Tool returns the tool of that name, or nil.
func (s *Set) Tool(name string) *Tool {
	if s == nil {
		return nil
	}
	for i := range s.Tools {
		if s.Tools[i].Name == name {
			return &s.Tools[i]
		}
	}
	return nil
}
