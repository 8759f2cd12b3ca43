// Package add serves the Add page of the console: it searches for servers,
// shows exactly what a server would run, and adds it after confirmation.
// Package offer implements this, and the add command uses it too.
package add

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
	"mcp-all-in-one/internal/web/api"
)

// A Gateway is the gateway that servers are added to.
type Gateway interface {
	// Config returns the running configuration.
	Config() *config.Config
	// Start reads the config file again and waits until the named server has
	// answered or failed. The error is the reason why the server does not run.
	Start(ctx context.Context, schema, name string) (Started, error)
	// Reload reads the config file again.
	Reload() error
}

// Started is the state of a server that was added.
type Started struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	// State is the state as the page of the server shows it.
	State string `json:"state"`
	Tools int    `json:"tools"`
	// Reason is why the server does not run and was switched off. Stderr is the
	// end of its error output.
	Reason string   `json:"reason,omitempty"`
	Stderr []string `json:"stderr,omitempty"`
	// Issues are warnings about definitions that give orders to the model or
	// cannot be used.
	Issues []i18n.Text `json:"-"`
	Notes  []string    `json:"notes,omitempty"`
}

// Adder serves the requests of the page.
type Adder struct {
	env     *env.Env
	gateway Gateway
	held    held
}

// New returns an Adder for the gateway g.
func New(a *env.Env, g Gateway) *Adder { return &Adder{env: a, gateway: g} }

// Routes returns the routes of the page. All of them are for administrators,
// because an added server runs on this machine.
func (x *Adder) Routes() []api.Route {
	return []api.Route{
		api.NewRoute("GET", "add/search", api.ScopeAdmin, x.search),
		api.NewRoute("POST", "add/look", api.ScopeAdmin, api.Reading(x.look)),
		api.NewRoute("POST", "add/bundle", api.ScopeAdmin, x.upload),
		api.NewRoute("POST", "add/{offer}/show", api.ScopeAdmin, api.Reading(x.show)),
		api.NewRoute("POST", "add/{offer}/install", api.ScopeAdmin, api.Reading(x.install)),
	}
}

type searchBody struct {
	Found []offer.Found `json:"found"`
	// Problems are the errors of registries that could not be queried.
	Problems []string `json:"problems"`
}

// search queries the registries for a word.
func (x *Adder) search(r *api.Request) (any, error) {
	word := strings.TrimSpace(r.URL.Query().Get("q"))
	if utf8.RuneCountInString(word) < install.MinSearch {
		return nil, i18n.Errorf("a word to search for has at least three characters", "查找的词至少要有三个字符")
	}
	found, faults := offer.Search(r.Context(), x.gateway.Config(), word)
	body := searchBody{Found: found, Problems: []string{}}
	for _, err := range faults {
		body.Problems = append(body.Problems, r.Lang().Of(err))
	}
	return body, nil
}

// lookBody describes what the user wants to add: a word, or a typed entry.
type lookBody struct {
	// Word is a name in a registry, or a bundle: a file on this machine or a
	// URL.
	Word string `json:"word"`
	// Way is one of the ways that the registry offers.
	Way string `json:"way"`
	// Name and Entry describe a command or a URL. Secret names its variables
	// and headers whose values go to the secret store.
	Name   string         `json:"name"`
	Entry  *install.Entry `json:"entry"`
	Secret []string       `json:"secret"`
	// Instead is the id of an offer that this one replaces.
	Instead string `json:"instead"`
}

// look finds out what is offered. It does not unpack or run anything.
func (x *Adder) look(r *api.Request, body lookBody) (any, error) {
	if _, err := x.held.get(r.Who, body.Instead); err == nil {
		x.held.end(body.Instead)
	}
	word := strings.TrimSpace(body.Word)
	switch {
	case body.Entry != nil:
		if (body.Entry.Command == "") == (body.Entry.URL == "") || body.Name == "" {
			return nil, i18n.Errorf("give a name, and a command or an address", "请给出名称，以及命令或地址")
		}
		body.Entry.Sandbox = nil // show says whether it is confined
		return x.keep(r, offer.Typed(body.Name, body.Entry, body.Secret)), nil
	case !offer.IsOffer(word):
		return nil, i18n.Errorf("%q is neither a name in a registry, such as io.github.owner/name, nor a bundle that ends in .mcpb, nor docker:IMAGE", "%q 既不是注册表中的名称（如 io.github.owner/name），也不是以 .mcpb 结尾的安装包或 docker:IMAGE", word)
	case body.Way != "" && !slices.Contains(install.Ways, body.Way):
		return nil, i18n.Errorf("no registry offers %q", "没有注册表提供 %q", body.Way)
	}
	o, err := offer.Find(r.Context(), x.env, x.gateway.Config(), word, body.Way)
	if err != nil {
		return nil, err
	}
	return x.keep(r, o), nil
}

// upload receives a bundle that the user chose in the browser.
func (x *Adder) upload(r *api.Request) (any, error) {
	name := filepath.Base(r.URL.Query().Get("name"))
	if !install.IsBundle(name) {
		return nil, i18n.Errorf("%q is not a bundle: its name ends in .mcpb", "%q 不是安装包：其名称应以 .mcpb 结尾", name)
	}
	file, err := os.CreateTemp("", "bundle-*")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // the open file is kept until the offer ends
	if _, err := io.Copy(file, r.File(install.MaxPacked)); err != nil {
		file.Close()
		return nil, i18n.Errorf("receiving the bundle: %w", "接收安装包失败：%w", err)
	}
	o, err := offer.FromFile(r.Context(), x.env, file, name)
	if err != nil {
		return nil, err
	}
	return x.keep(r, o), nil
}
