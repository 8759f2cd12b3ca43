// Package builtin implements our own tools: inspect, exec and run of the
// compact modes, and the tools with which a client manages our configuration.
package builtin

import (
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/script"
)

// Server is the name of our own tools among the servers. A configured server
// cannot have it.
const Server = "\x00builtin"

// An Asker sends a request to the client of a call.
type Asker func(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error)

// An Env gives one of our tools access to the gateway, with the rights of the
// caller.
type Env struct {
	// Principal is the id of the caller's principal.
	Principal string
	// Agreed are the servers whose removal by this call the user has confirmed.
	Agreed []string
	// Catalog returns everything that is available now. Visible selects what
	// the caller may see; nil means all.
	Catalog func() *catalog.Catalog
	Visible catalog.Visible
	// Await waits for the server of a tool that was not found; nil without
	// scripts.
	Await func(ctx context.Context, miss *catalog.Miss) error
	// Call calls a tool of a server as if the caller did, including progress,
	// cancellation and questions. arguments is nil if there are none.
	Call func(ctx context.Context, server, tool string, arguments []byte) (*jsonrpc.Response, error)
	// Ask sends a request to the caller's client. It fails if the client does
	// not support the request.
	Ask Asker
	// OpensURL reports whether the client handles the error that asks the user
	// to open a URL.
	OpensURL bool

	// Read reads a resource and Prompt gets a prompt as if the caller did.
	Read   func(ctx context.Context, uri string) (*jsonrpc.Response, error)
	Prompt func(ctx context.Context, server, name string, arguments []byte) (*jsonrpc.Response, error)
	// Keep stores a text for the caller and returns its URI. Kept returns a
	// stored text.
	Keep func(text []byte) (uri string, err error)
	Kept func(ctx context.Context, uri string) (kept.Result, error)
	// JQ filters stored results with jq.
	JQ kept.Filter
	// ReadLimit is how much of a stored result is shown at once.
	ReadLimit int64
	// Script runs a script within Limits. Job, if set, changes the job before
	// it runs.
	Script func(ctx context.Context, job *script.Job, asked jsonrpc.Handler) (*script.Outcome, error)
	Limits script.Limits
	// Inner is set if a script is the caller. It gets the whole value alone.
	Inner bool
	Job   func(*script.Job)
	// Lang is the language of the user at the command line; clients get
	// English.
	Lang i18n.Lang
	// Progress reports the progress of a script to the caller; nil if the
	// caller does not want it. Saved receives how much a script kept out of the
	// context.
	Progress func(ctx context.Context, message string)
	Saved    func(calls int, inner, shown catalog.Cost)
}

// A Tool is one of our tools.
type Tool struct {
	Name string
	// Definition is the raw item in tools/list.
	Definition []byte
	// Compact reports that the tool represents the servers' tools. The others
	// manage the configuration.
	Compact bool
	// Script reports that the tool runs a script, Reader that it reads stored
	// results.
	Script, Reader bool
	// Code is the code of a tool that is a stored script.
	Code string
	// Removes returns the ids of the user's servers that a call would remove. It
	// is nil if the tool never removes servers. The user is asked before a
	// removal.
	Removes func(arguments []byte) []string
	// Run handles a call. arguments is nil if the caller gave none. An error of
	// type *jsonrpc.Error is sent unchanged.
	Run func(ctx context.Context, env *Env, arguments []byte) (*jsonrpc.Response, error)
}

// A Set is a group of tools that are shown together. It is immutable.
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

// Source returns the set as a server of a catalogue, with unprefixed names.
func (s *Set) Source() catalog.Source {
	return catalog.Source{Server: Server, Features: s.features, Policy: catalog.Policy{Naming: catalog.NamingNone}}
}

// Tool returns the tool with a name, or nil.
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
