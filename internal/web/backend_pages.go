package web

import (
	"context"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/tester/lint"
)

// Catalog gives access to the catalogue that clients see.
type Catalog interface {
	// Look returns the part of a schema's catalogue that a principal sees. If
	// session is not empty, it includes the view of that session's client.
	Look(who access.Principal, schema, session string) (CatalogPage, error)
	// Switch writes a switch of a tool or prompt to the config file: enabled,
	// whether clients see it; ask, whether a person has to allow each call.
	Switch(ctx context.Context, schema, server, kind, name, key string, on bool) error
}

// A CatalogPage describes what clients see of a schema.
type CatalogPage struct {
	Schema  string   `json:"schema"`
	Schemas []string `json:"schemas"`
	// Mode is the mode in use. Advice recommends the mode that suits the
	// schema best.
	Mode   string         `json:"mode"`
	Advice receipt.Advice `json:"advice"`
	// List is the cost of one tool list in each mode.
	List catalog.Receipt `json:"list"`
	// Fits reports whether the schema fits clients that have limits.
	Fits []receipt.Fit `json:"fits"`
	Rows []catalog.Row `json:"rows"`
	// Lens is the view of the requested session's client.
	Lens *gateway.Lens `json:"lens,omitempty"`
}

// Programs gives access to the MCP clients on this machine that have a config
// file.
type Programs interface {
	List() []Program
	// Plan returns the change that connecting or disconnecting would make.
	Plan(id string, how ConnectOptions, lang i18n.Lang) (ConnectPlan, error)
	// Apply makes the change that has the given mark from Plan. It returns
	// ErrChanged if the file has changed since.
	Apply(ctx context.Context, id string, how ConnectOptions, mark string, lang i18n.Lang) (ConnectPlan, error)
	// Importable lists the servers of the programs.
	Importable(ctx context.Context, lang i18n.Lang) ([]Importable, error)
	// Import adds the chosen servers to the config file, in one write, and
	// reports what became of each. It returns ErrChanged if one has another
	// mark by now.
	Import(ctx context.Context, chosen []Importable, lang i18n.Lang) ([]Importable, error)
}

// An Importable is a server of another program.
type Importable struct {
	Program string `json:"program"`
	Name    string `json:"name"`
	// Run is the command line that the server would run, or its URL.
	Run string `json:"run,omitempty"`
	// Adds reports that importing adds the server. Outcome says it in words.
	Adds    bool     `json:"adds"`
	Outcome string   `json:"outcome"`
	Notes   []string `json:"notes,omitempty"`
	// Mark identifies what importing writes.
	Mark string `json:"mark"`
}

// A Program is an MCP client that can be connected to the gateway.
type Program struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	File string `json:"file"`
	// Found reports that the file exists, Connected that it contains our
	// entry, and Undo that we wrote the entry and can restore the original
	// file byte by byte.
	Found     bool `json:"found"`
	Connected bool `json:"connected"`
	Undo      bool `json:"undo"`
	// Servers are the servers that the program starts itself.
	Servers []string `json:"servers"`
	// Dials reports that the program can connect to a URL.
	Dials   bool   `json:"dials"`
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"errorZH,omitempty"`
}

// ConnectOptions say how a program is connected, or that it is disconnected.
type ConnectOptions struct {
	Disconnect bool `json:"disconnect,omitempty"`
	// URL makes the program connect to this gateway instead of starting a
	// command.
	URL    bool   `json:"url,omitempty"`
	Schema string `json:"schema,omitempty"`
	// Move moves the program's own servers to this gateway.
	Move bool `json:"move,omitempty"`
}

// A ConnectPlan is a change of a program's file, with secrets masked.
type ConnectPlan struct {
	File string `json:"file"`
	// Diff is empty when there is nothing to change.
	Diff string `json:"diff"`
	// Mark identifies exactly this change.
	Mark   string   `json:"mark"`
	Moving []string `json:"moving"`
	// Snippet is the text to add by hand.
	Snippet string `json:"snippet,omitempty"`
	// Backup is the path of the original file's copy, after Apply.
	Backup string `json:"backup,omitempty"`
}

// Doctor runs diagnostic checks.
type Doctor interface {
	// Examine checks one server, or everything if name is empty. It walks the
	// network path to a server only if way is set, because that can take as
	// long as the timeout of a server that does not answer.
	Examine(ctx context.Context, schema, name string, way bool, lang i18n.Lang) ([]Finding, error)
}

// A Finding is the result of one check.
type Finding struct {
	// Schema and Name identify the server; empty for checks of other things.
	Schema string `json:"schema,omitempty"`
	Name   string `json:"name,omitempty"`
	OK     bool   `json:"ok"`
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
	// Fix says how to solve the problem. Command is the command line for it.
	Fix     string `json:"fix,omitempty"`
	Command string `json:"command,omitempty"`
	// Way lists the steps of the connection to an HTTP server.
	Way []probe.Leg `json:"way,omitempty"`
	// Lint lists problems that clients and models will have with the server.
	Lint []lint.Finding `json:"lint,omitempty"`
}
