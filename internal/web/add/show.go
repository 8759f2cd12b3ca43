package add

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/web/api"
)

// offerBody describes an offer and its questions.
type offerBody struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Head      string     `json:"head"`
	Way       string     `json:"way,omitempty"`
	Ways      []string   `json:"ways,omitempty"`
	Alarms    []string   `json:"alarms,omitempty"`
	Questions []question `json:"questions"`
	// Unconfinable is why a command cannot be sandboxed here; empty if it can.
	Unconfinable string `json:"unconfinable,omitempty"`
}

// question is a question that only the user can answer.
type question struct {
	ID          string       `json:"id"`
	Kind        install.Kind `json:"kind"`
	Description string       `json:"description,omitempty"`
	Placeholder string       `json:"placeholder,omitempty"`
	Choices     []string     `json:"choices,omitempty"`
	Default     string       `json:"default,omitempty"`
	Required    bool         `json:"required"`
	Secret      bool         `json:"secret"`
	Repeated    bool         `json:"repeated"`
	Format      string       `json:"format,omitempty"`
}

// keep stores an offer and describes it.
func (x *Adder) keep(r *api.Request, o *offer.Offer) offerBody {
	body := offerBody{Name: o.Local, Head: o.Head.In(r.Lang()), Way: o.Way, Ways: o.Ways, Alarms: inLanguage(o.Alarms, r.Lang()), Questions: []question{}}
	for _, q := range o.Questions {
		body.Questions = append(body.Questions, question{
			ID: q.ID, Kind: q.Kind, Description: install.Show(q.Description), Placeholder: install.Show(q.Placeholder), Choices: q.Choices, Default: q.Default,
			Required: q.Required, Secret: q.Secret, Repeated: q.Repeated, Format: q.Format,
		})
	}
	if err := sandbox.Supported(); err != nil {
		body.Unconfinable = r.Lang().Of(err)
	}
	body.ID = x.held.add(r.Who, o)
	return body
}

func inLanguage(list []i18n.Text, l i18n.Lang) []string {
	var out []string
	for _, text := range list {
		out = append(out, text.In(l))
	}
	return out
}

// showBody holds the user's choices so far.
type showBody struct {
	Schema   string          `json:"schema"`
	Name     string          `json:"name"`
	Answers  install.Answers `json:"answers"`
	Confined bool            `json:"confined"`
}

// shownBody is exactly what would be written and run.
type shownBody struct {
	Rows []rowBody `json:"rows"`
	// Entry is the text for the config file. The confirmation sends Hash back.
	Entry string `json:"entry"`
	Hash  string `json:"hash"`
	// Missing lists questions that need an answer first.
	Missing []string `json:"missing,omitempty"`
}

type rowBody struct {
	// Kind is the label in English.
	Kind  string `json:"kind"`
	Label string `json:"label"`
	Text  string `json:"text"`
}

// show fills in the answers. They stay in the gateway: the response contains
// references in place of secrets.
func (x *Adder) show(r *api.Request, body showBody) (any, error) {
	one, err := x.held.get(r.Who, r.Param("offer"))
	if err != nil {
		return nil, err
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.ready = nil
	if body.Answers == nil {
		body.Answers = install.Answers{}
	}
	terms := offer.Terms{Schema: cmp.Or(body.Schema, config.DefaultSchema), Local: body.Name, Answers: body.Answers, Confined: body.Confined}
	ready, err := one.offer.Ready(x.gateway.Config(), terms)
	if err != nil {
		return nil, err
	}
	if !r.Who.MaySee(ready.Schema, ready.Local, "") {
		return nil, i18n.Errorf("your key is not for the server %s of the schema %s", "你的密钥不能用于 schema %[2]s 的服务器 %[1]s", ready.Local, ready.Schema)
	}
	one.ready = ready
	return shown(ready, r.Lang()), nil
}

func shown(ready *offer.Ready, l i18n.Lang) shownBody {
	var entry bytes.Buffer
	_ = json.Indent(&entry, ready.Entry, "", "  ") // it was made by us
	body := shownBody{Entry: i18n.SeenJSON(entry.String()), Hash: ready.Hash()}
	for _, row := range ready.Rows() {
		body.Rows = append(body.Rows, rowBody{Kind: row.Label.String(), Label: row.Label.In(l), Text: row.Text.In(l)})
	}
	for _, q := range install.Missing(ready.Offer.Questions, ready.Answers) {
		body.Missing = append(body.Missing, q.ID)
	}
	return body
}

// install adds exactly the entry that was shown.
func (x *Adder) install(r *api.Request, body struct{ Hash string }) (any, error) {
	id := r.Param("offer")
	one, err := x.held.get(r.Who, id)
	if err != nil {
		return nil, err
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	ready := one.ready
	if ready == nil || ready.Hash() != body.Hash {
		return nil, api.ErrChanged
	}
	if open := install.Missing(ready.Offer.Questions, ready.Answers); len(open) > 0 {
		return nil, i18n.Errorf("%s needs an answer", "%s 需要填写", install.Show(open[0].ID))
	}
	started := Started{Schema: ready.Schema, Name: ready.Local}
	res, err := ready.CarryOut(x.env, x.gateway.Config().Path, func(*edit.WriteResult) error {
		var failed error
		// The start continues if the page is closed.
		started, failed = x.gateway.Start(context.WithoutCancel(r.Context()), ready.Schema, ready.Local)
		return failed
	})
	if res == nil {
		return nil, err
	}
	x.held.end(id)
	if err != nil {
		started.Reason = r.Lang().Of(err)
		if err := x.gateway.Reload(); err != nil {
			return nil, err
		}
	}
	started.Notes = inLanguage(started.Issues, r.Lang())
	return started, nil
}
