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

// Catalog is what clients are shown.
type Catalog interface {
	// Look is what a principal sees of the catalogue of a schema, as it is for
	// the client of a session where one is named.
	Look(who access.Principal, schema, session string) (CatalogPage, error)
	// Switch writes into the config file whether clients see a tool or prompt.
	Switch(ctx context.Context, schema, server, kind, name string, on bool) error
}

// A CatalogPage is what clients are shown of a schema.
type CatalogPage struct {
	Schema  string   `json:"schema"`
	Schemas []string `json:"schemas"`
	// Mode is how it is shown, Advice which mode would suit it best.
	Mode   string         `json:"mode"`
	Advice receipt.Advice `json:"advice"`
	// List is what one list of the tools costs in each mode.
	List catalog.Receipt `json:"list"`
	// Fits say how it suits clients that have limits.
	Fits []receipt.Fit `json:"fits"`
	Rows []catalog.Row `json:"rows"`
	// Lens is what the client of the asked session is shown of it.
	Lens *gateway.Lens `json:"lens,omitempty"`
}

// Programs are the clients on this machine that have a config file.
type Programs interface {
	List() []Program
	// Plan says what connecting or disconnecting would change.
	Plan(id string, how ConnectOptions, lang i18n.Lang) (ConnectPlan, error)
	// Apply makes the change whose mark Plan has shown; ErrChanged when the
	// file is another one by now.
	Apply(ctx context.Context, id string, how ConnectOptions, mark string, lang i18n.Lang) (ConnectPlan, error)
}

// A Program is one client that can be connected.
type Program struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	File string `json:"file"`
	// Found says that the file is there, Connected that we are in it, and
	// Undo that we put ourselves there and can take it back to the byte.
	Found     bool `json:"found"`
	Connected bool `json:"connected"`
	Undo      bool `json:"undo"`
	// Servers are those that it starts by itself.
	Servers []string `json:"servers"`
	// Dials says that it can connect to a URL.
	Dials   bool   `json:"dials"`
	Error   string `json:"error,omitempty"`
	ErrorZH string `json:"errorZH,omitempty"`
}

// ConnectOptions say how a program is connected, or that it is disconnected.
type ConnectOptions struct {
	Disconnect bool `json:"disconnect,omitempty"`
	// URL says that it dials this gateway instead of starting a command.
	URL    bool   `json:"url,omitempty"`
	Schema string `json:"schema,omitempty"`
	// Move takes its own servers behind this gateway.
	Move bool `json:"move,omitempty"`
}

// A ConnectPlan is a change of a program's file; secrets are masked.
type ConnectPlan struct {
	File string `json:"file"`
	// Diff is empty when there is nothing to change.
	Diff string `json:"diff"`
	// Mark stands for exactly this change.
	Mark   string   `json:"mark"`
	Moving []string `json:"moving"`
	// Snippet is what to write by hand.
	Snippet string `json:"snippet,omitempty"`
	// Backup is what the file was, after Apply.
	Backup string `json:"backup,omitempty"`
}

// Doctor looks for what is wrong.
type Doctor interface {
	// Examine looks at one server, or at everything when name is empty. The way
	// to a server is walked on request: it takes as long as a silent server.
	Examine(ctx context.Context, schema, name string, way bool, lang i18n.Lang) ([]Finding, error)
}

// A Finding is one thing that was looked at.
type Finding struct {
	// Schema and Name are the server's; empty for the rest.
	Schema string `json:"schema,omitempty"`
	Name   string `json:"name,omitempty"`
	OK     bool   `json:"ok"`
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
	// Fix says what to do; Command is what to type for that.
	Fix     string `json:"fix,omitempty"`
	Command string `json:"command,omitempty"`
	// Way are the steps to a server over HTTP.
	Way []probe.Leg `json:"way,omitempty"`
	// Lint is what clients and models will stumble over.
	Lint []lint.Finding `json:"lint,omitempty"`
}
