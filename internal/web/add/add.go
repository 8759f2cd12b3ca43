// Package add is the page Add of the console: looking for servers, showing
// exactly what one would run, and adding it after a yes. How that is done is
// package offer's, which the command add uses too.
package add

import (
	"context"
	"io"
	"net/http"
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

// A Gateway is what servers are added to.
type Gateway interface {
	// Config is what it runs with.
	Config() *config.Config
	// Start reads the config file again, and waits until a server of it has
	// answered or failed. The error says why it does not run.
	Start(ctx context.Context, schema, name string) (Started, error)
	// Reload reads the config file again.
	Reload() error
}

// Started is how a server that was added does.
type Started struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	// State is the state that the page of the server shows.
	State string `json:"state"`
	Tools int    `json:"tools"`
	// Reason is why it does not run, and was switched off; Stderr is the end of
	// what it wrote.
	Reason string   `json:"reason,omitempty"`
	Stderr []string `json:"stderr,omitempty"`
	// Issues are what of its definitions gives orders to the model, or cannot
	// be used.
	Issues []i18n.Text `json:"-"`
	Notes  []string    `json:"notes,omitempty"`
}

// Adder answers the requests of the page.
type Adder struct {
	env     *env.Env
	gateway Gateway
	held    held
}

// New is the page's part of the API.
func New(a *env.Env, g Gateway) *Adder { return &Adder{env: a, gateway: g} }

// Routes are the parts of the API. All of them are for administrators: what is
// added runs here.
func (x *Adder) Routes() []api.Route {
	return []api.Route{
		{Method: http.MethodGet, Pattern: "add/search", Scope: api.ScopeAdmin, Serve: api.Answer(x.search)},
		{Method: http.MethodPost, Pattern: "add/look", Scope: api.ScopeAdmin, Serve: api.Answer(x.look)},
		{Method: http.MethodPost, Pattern: "add/bundle", Scope: api.ScopeAdmin, Serve: api.Answer(x.upload)},
		{Method: http.MethodPost, Pattern: "add/{offer}/show", Scope: api.ScopeAdmin, Serve: api.Answer(x.show)},
		{Method: http.MethodPost, Pattern: "add/{offer}/install", Scope: api.ScopeAdmin, Serve: api.Answer(x.install)},
	}
}

type searchBody struct {
	Found []offer.Found `json:"found"`
	// Problems are registries that could not be asked.
	Problems []string `json:"problems"`
}

// search asks the registries for a word.
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

// lookBody is what a person wants to add: a word, or what they typed.
type lookBody struct {
	// Word is a name in a registry, or a bundle: a file of this machine or an
	// address.
	Word string `json:"word"`
	// Way is one of those that a registry offers.
	Way string `json:"way"`
	// Name and Entry are a command or an address; Secret names the variables
	// and headers of it that go to the store of secrets.
	Name   string         `json:"name"`
	Entry  *install.Entry `json:"entry"`
	Secret []string       `json:"secret"`
	// Instead is an offer that this one takes the place of.
	Instead string `json:"instead"`
}

// look finds out what is offered. Nothing of it is unpacked or run.
func (x *Adder) look(r *api.Request) (any, error) {
	var body lookBody
	if err := r.Decode(&body); err != nil {
		return nil, err
	}
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
	case !install.IsName(word) && !install.IsBundle(word):
		return nil, i18n.Errorf("%q is neither a name in a registry, such as io.github.owner/name, nor a bundle that ends in .mcpb", "%q 既不是注册表中的名称（如 io.github.owner/name），也不是以 .mcpb 结尾的安装包", word)
	case body.Way != "" && !slices.Contains(install.Ways, body.Way):
		return nil, i18n.Errorf("no registry offers %q", "没有注册表提供 %q", body.Way)
	}
	o, err := offer.Find(r.Context(), x.env, x.gateway.Config(), word, body.Way)
	if err != nil {
		return nil, err
	}
	return x.keep(r, o), nil
}

// upload takes a bundle that the person chose in the browser.
func (x *Adder) upload(r *api.Request) (any, error) {
	name := filepath.Base(r.URL.Query().Get("name"))
	if !install.IsBundle(name) {
		return nil, i18n.Errorf("%q is not a bundle: its name ends in .mcpb", "%q 不是安装包：其名称应以 .mcpb 结尾", name)
	}
	file, err := os.CreateTemp("", "bundle-*")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // it ends with the offer
	if _, err := io.Copy(file, http.MaxBytesReader(nil, r.Body, install.MaxPacked)); err != nil {
		file.Close()
		return nil, i18n.Errorf("receiving the bundle: %w", "接收安装包失败：%w", err)
	}
	o, err := offer.FromFile(r.Context(), x.env, file, name)
	if err != nil {
		return nil, err
	}
	return x.keep(r, o), nil
}
