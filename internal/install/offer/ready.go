package offer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/sandbox"
)

// Terms are the decisions of a person about an offer.
type Terms struct {
	// Schema and Local are the schema and the name of the entry. An empty Local
	// means the name of the offer.
	Schema, Local string
	Answers       install.Answers
	// Confined runs a command in a sandbox, if the system has one.
	Confined bool
	// Replace allows replacing the server with that name; CreateSchema adds the
	// schema.
	Replace, CreateSchema bool
}

// A Ready is an offer with all questions answered. It is exactly what will be
// written.
type Ready struct {
	Terms
	Offer *Offer
	// Entry is the entry as it will be written, with references to secrets.
	Entry []byte

	filled *install.Filled
	// For an update: the entry that this one replaces, and its hash.
	was     []byte
	wasHash string
}

// Check runs before any question is asked. It refuses a name that is in use,
// and answers to unknown questions, which are usually misspelt.
func (o *Offer) Check(cfg *config.Config, t *Terms) error {
	t.Local = cmp.Or(t.Local, o.Local)
	if s := cfg.Schema(t.Schema); s != nil && s.Server(t.Local) != nil && !t.Replace {
		return &Exists{t.Local}
	}
	for kind, given := range t.Answers {
		for id := range given {
			if !slices.ContainsFunc(o.Questions, func(q install.Question) bool { return q.Kind == kind && q.ID == id }) {
				return install.NotAsked(id, o.Questions)
			}
		}
	}
	return nil
}

// Ready fills in the answers. An input without an answer or default is left
// out.
func (o *Offer) Ready(cfg *config.Config, t Terms) (*Ready, error) {
	if err := o.Check(cfg, &t); err != nil {
		return nil, err
	}
	if err := install.Settle(o.Questions, t.Answers); err != nil {
		return nil, err
	}
	filled, err := o.fill(t.Local, t.Answers)
	if err != nil {
		return nil, err
	}
	if t.Confined && sandbox.Supported() == nil {
		if filled.Entry.Confine(); filled.Entry.Sandbox != nil {
			if err := sandbox.Confinable(filled.Entry.Command, filled.Entry.Args); err != nil {
				return nil, &install.Error{Code: env.CodeUnconfined, Text: i18n.New("%s: %v", "%s：%v", t.Local, err)}
			}
		}
	}
	entry, err := filled.Entry.JSON()
	return &Ready{Terms: t, Offer: o, Entry: entry, filled: filled}, err
}

// Hash identifies what the person is shown. The confirmation sends it back.
func (r *Ready) Hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", r.Schema, r.Local, r.Entry)
	if b := r.Offer.bundle; b != nil {
		fmt.Fprintf(h, " %q", b.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Exists means that a server name is in use.
type Exists struct{ Name string }

func (e *Exists) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *Exists) In(l i18n.Lang) string {
	return i18n.New("there is a server %s already; choose another name", "已有服务器 %s；请换一个名称", e.Name).In(l)
}

// CarryOut unpacks the files, stores the secrets, writes the entry into the
// config file at path, and starts the server. If the server does not start, its
// entry stays in the file but is switched off; after an update the previous
// entry is restored. The error of start is returned.
func (r *Ready) CarryOut(a *env.Env, path string, start func(*edit.WriteResult) error) (res *edit.WriteResult, err error) {
	used := false // an entry of the config file has the folder of the bundle
	if b := r.Offer.bundle; b != nil {
		if _, err := os.Stat(b.Folder(bundlesDir())); err != nil {
			defer func() {
				if !used {
					os.RemoveAll(b.Folder(bundlesDir()))
				}
			}()
		}
		if err := b.Unpack(bundlesDir()); err != nil {
			return nil, err
		}
	}
	if len(r.filled.Secrets) > 0 {
		if _, err := a.UserDir(); err != nil {
			return nil, err
		}
	}
	for _, name := range env.SortedKeys(r.filled.Secrets) {
		if err := a.Secrets().Set(name, r.filled.Secrets[name]); err != nil {
			return nil, err
		}
	}
	if res, err = edit.Update(path, a.WriteOptions(), r.Write); err != nil {
		return nil, err
	}
	used = true
	if err := start(res); err != nil {
		if _, failed := edit.Update(path, a.WriteOptions(), r.giveUp); failed != nil {
			return res, failed
		}
		used = !r.Updates()
		return res, err
	}
	return res, nil
}

// Updates reports whether the entry replaces an older version.
func (r *Ready) Updates() bool { return r.was != nil }

// giveUp reverts an entry whose server does not start.
func (r *Ready) giveUp(d *edit.Draft) error {
	if r.was != nil {
		return d.SetServer(r.Schema, r.Local, r.was)
	}
	return d.EnableServer(r.Schema, r.Local, false)
}

// Write writes the entry into a draft of the config file.
func (r *Ready) Write(d *edit.Draft) error {
	if r.CreateSchema {
		if err := d.AddSchema(r.Schema); err != nil {
			return err
		}
	}
	if r.was != nil && d.ApprovalHash(r.Schema, r.Local) != r.wasHash { // the person has compared another entry
		return changedMeanwhile(r.Local)
	}
	if d.Entry(r.Schema, r.Local) != nil && !r.Replace {
		return &Exists{r.Local}
	}
	return d.SetServer(r.Schema, r.Local, r.Entry)
}
