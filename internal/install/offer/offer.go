// Package offer adds a server to the config file step by step: the offer, the
// questions, what exactly would run, and after confirmation the files, the
// secrets and the entry. The command add and the page Add of the console both
// use it.
package offer

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/secrets"
)

// An Offer is a server that can be added, before a person has confirmed it.
type Offer struct {
	// Local is the default local name.
	Local string
	// Head has the name and the origin.
	Head i18n.Text
	// Way is how the server would run; Ways are all ways that the registry
	// offers.
	Way  string
	Ways []string
	// Alarms are reasons for caution. Each must be confirmed.
	Alarms    []i18n.Text
	Questions []install.Question

	rows   []Row
	fill   func(local string, answers install.Answers) (*install.Filled, error)
	bundle *install.Bundle // unpacked after the confirmation
}

// A Row is one line of the description for a person.
type Row struct {
	Label, Text i18n.Text
}

// Close closes the bundle.
func (o *Offer) Close() {
	if o.bundle != nil {
		o.bundle.Close()
	}
}

// IsOffer reports whether a word is one that Find takes.
func IsOffer(word string) bool {
	return install.IsName(word) || install.IsBundle(word) || install.IsImage(word)
}

// Find looks up a word: a name in a registry, with or without a version, a bundle,
// or an image. way is one of install.Ways, or "" for the first one that can run on
// this machine.
func Find(ctx context.Context, a *env.Env, cfg *config.Config, word, way string) (*Offer, error) {
	if install.IsBundle(word) {
		return findBundle(ctx, a, word, "")
	}
	if install.IsImage(word) {
		return Image(ctx, cfg, word, nil, nil)
	}
	name, version, _ := strings.Cut(word, "@")
	r := registries(ctx, cfg)
	defer r.Close()
	rec, err := r.Find(ctx, name, version)
	if err != nil {
		return nil, err
	}
	return ofRecord(ctx, a, cfg, rec, way)
}

// SignIns returns the sign-ins to registries. They belong to this machine: unlike
// sign-ins to servers, replicas do not share them.
func SignIns(ctx context.Context, cfg *config.Config) *oauth.Keeper {
	dir := cmp.Or(folders.UserDir(folders.Home()), folders.StateDir())
	opt := oauth.Options{Dir: filepath.Join(dir, "registries")}
	if cfg.Tokens == "keychain" {
		opt.Store = secrets.NewKeyring("mcp-all-in-one registries")
	}
	return oauth.NewKeeper(ctx, opt)
}

// opened are registries and the sign-ins to them.
type opened struct {
	*install.Registries
	signIns *oauth.Keeper
}

func (o opened) Close() {
	o.Registries.Close()
	o.signIns.Close()
}

// registries opens the registries of the configuration, with the tokens that
// auth login keeps.
func registries(ctx context.Context, cfg *config.Config) opened {
	list := slices.Clone(cfg.Registries)
	store := secrets.NewUserStore(folders.UserDir(folders.Home()))
	for i := range list {
		if list[i].Token == "" {
			token, _ := store.Get(install.TokenName(list[i].URL)) // without a token, the registry says what it needs
			list[i].Token = config.Secret(token)
		}
	}
	signIns := SignIns(ctx, cfg)
	return opened{install.Open(list, filepath.Join(folders.StateDir(), "registry"), signIns), signIns}
}

// ofRecord plans how the server of a record would run on this machine.
func ofRecord(ctx context.Context, a *env.Env, cfg *config.Config, rec *install.Record, way string) (*Offer, error) {
	var why i18n.Text
	plan, err := planOf(cfg, rec, way, func() (engine string) {
		engine, why = engineHere(ctx)
		return engine
	})
	if err != nil {
		return nil, err
	}
	o := &Offer{Questions: plan.Questions, fill: plan.Fill}
	if plan.Image != nil {
		if err := plan.Image.Pin(ctx, bases(cfg)); err != nil {
			return nil, err
		}
		o.rows = engineRows(why)
	}
	if plan.Download != "" {
		if o, err = findBundle(ctx, a, plan.Download, plan.SHA256); err != nil {
			return nil, err
		}
		fill := o.fill
		o.fill = func(local string, answers install.Answers) (*install.Filled, error) {
			filled, err := fill(local, answers)
			if err == nil {
				plan.Mark(filled.Entry)
			}
			return filled, err
		}
		o.rows = slices.DeleteFunc(o.rows, func(r Row) bool { return r.Label.String() == says.String() })
	}
	o.Local, o.Way, o.Ways = install.LocalName(rec.Server.Name), plan.Way, rec.Offers()
	o.describe(plan)
	o.Alarms = append(o.Alarms, alarms(cfg, rec)...)
	return o, nil
}

func planOf(cfg *config.Config, rec *install.Record, way string, engine func() string) (*install.Plan, error) {
	o := install.PlanOptions{Way: way, Can: inPath, Engine: engine, Bases: bases(cfg)}
	for _, c := range cfg.Registries {
		if c.Name == rec.Registry {
			o.Registry = c.URL
		}
	}
	return install.NewPlan(rec, o)
}

// bases returns the addresses of the configured registries.
func bases(cfg *config.Config) []string {
	list := []string{}
	for _, c := range cfg.Registries {
		list = append(list, strings.TrimSuffix(c.URL, "/"))
	}
	return list
}

func inPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// alarms returns the reasons for caution about a record.
func alarms(cfg *config.Config, rec *install.Record) []i18n.Text {
	var list []i18n.Text
	if m := rec.Meta.Official; m.Status == "deprecated" {
		list = append(list, i18n.New("deprecated: %s", "已弃用：%s", install.Show(m.Message)))
	}
	_, names := installed(cfg)
	names = slices.DeleteFunc(names, func(name string) bool { return name == rec.Server.Name })
	if near := install.LooksLike(rec.Server.Name, names); near != "" {
		list = append(list, i18n.New("its name looks like %s, which is installed", "其名称与已安装的 %s 相似", near))
	}
	return list
}

// installed returns the servers that were added from registries: their local
// names by registry name, and the registry names in the order of the file.
func installed(cfg *config.Config) (local map[string]string, names []string) {
	local = map[string]string{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			if s.Origin.Name != "" {
				local[s.Origin.Name] = s.Name
				names = append(names, s.Origin.Name)
			}
		}
	}
	return local, names
}

// Typed returns the offer of a command or an address that a person typed.
// secret lists the variables and headers whose values are put into the secret
// store.
func Typed(name string, e *install.Entry, secret []string) *Offer {
	o := &Offer{Local: name, Head: i18n.New("%s   as you typed it", "%s   按你输入的内容", i18n.Seen(name))}
	o.fill = func(local string, _ install.Answers) (*install.Filled, error) {
		return install.Typed(local, e, secret), nil
	}
	return o
}
