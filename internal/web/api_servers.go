package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/inbox"
)

type overviewBody struct {
	Servers []Server         `json:"servers"`
	Clients []Client         `json:"clients"`
	Inbox   []inbox.Question `json:"inbox"`
	Stats   any              `json:"stats"`
	Rev     uint64           `json:"rev"`
	// Unread describes changes of the config file that the gateway has not
	// read yet.
	Unread *Unread `json:"unread,omitempty"`
	// Replicas lists the replicas that were asked, if there are several.
	Replicas []Replica `json:"replicas,omitempty"`
	// Config is the digest of the configuration, for another replica.
	Config string `json:"config,omitempty"`
}

func (h *Handler) getOverview(r *api.Request) (any, error) {
	body := overviewBody{h.sight.servers(r.Who), h.sight.clients(r.Who), h.opt.Inbox.List(r.Who), h.sight.stats(r.Who), h.opt.Traffic.Rev(), h.unread(r.Who), nil, ""}
	if h.opt.Digest != nil {
		body.Config = h.opt.Digest()
	}
	return h.joined.overview(r, body), nil
}

// unread returns the unread changes of the config file; nil for a principal
// that may not reload it.
func (h *Handler) unread(who access.Principal) *Unread {
	if h.opt.Unread == nil || !who.MayConfigure() {
		return nil
	}
	return h.opt.Unread()
}

// serverPages serves the configured servers and changes them.
type serverPages struct {
	servers Servers
	sight   *sight
	undos   *undos
	signIns *signIns
	ctx     context.Context // context of sign-ins, which outlive a request
	joined  *joined
}

func (p *serverPages) get(r *api.Request) (any, error) {
	d, err := p.servers.Detail(r.Param("schema"), r.Param("name"))
	if err != nil {
		return nil, err
	}
	if !r.Who.MayConfigure() {
		d.Approval = nil // it contains every value of the entry
	}
	return d.shownTo(r.Who), nil
}

type saveBody struct {
	Entry json.RawMessage `json:"entry"`
	// Confirm is the command line that the page showed to the user.
	Confirm string `json:"confirm"`
}

// started is the command that an entry starts.
type started struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func (p *serverPages) put(r *api.Request, body saveBody) (any, error) {
	var entry started
	if err := json.Unmarshal(body.Entry, &entry); err != nil {
		return nil, api.BadRequest(i18n.New("reading the entry: %v", "读取条目失败：%v", err))
	}
	schema, name := r.Param("schema"), r.Param("name")
	if !p.runsAlready(schema, name, entry) {
		if err := api.Confirm(entry.Command, entry.Args, body.Confirm); err != nil {
			return nil, err
		}
	}
	return nil, p.servers.Save(r.Context(), schema, name, body.Entry)
}

// runsAlready reports whether the server already has exactly this command, so
// that saving the entry starts nothing new.
func (p *serverPages) runsAlready(schema, name string, now started) bool {
	d, err := p.servers.Detail(schema, name)
	var was started
	return err == nil && json.Unmarshal(d.Entry, &was) == nil && was.Command == now.Command && slices.Equal(was.Args, now.Args)
}

func (p *serverPages) delete(r *api.Request) (any, error) {
	undo, err := p.servers.Remove(r.Context(), r.Param("schema"), r.Param("name"))
	if err != nil {
		return nil, err
	}
	return map[string]string{"undo": p.undos.add(undo)}, nil
}

func (p *serverPages) post(r *api.Request) (any, error) {
	schema, name := r.Param("schema"), r.Param("name")
	switch r.Param("action") {
	case "enable", "disable":
		return nil, p.servers.SetEnabled(r.Context(), schema, name, r.Param("action") == "enable")
	case "restart":
		return nil, p.servers.Restart(r.Context(), schema, name)
	case "signin":
		return p.signIn(schema, name)
	case "approve":
		return p.approve(r, schema, name)
	}
	return nil, api.NotFound(i18n.New("the actions are enable, disable, restart, approve and signin", "可用的操作是 enable、disable、restart、approve 和 signin"))
}

// changedBody answers an approval whose hash is out of date. It contains the
// approval that is pending now.
type changedBody struct {
	api.Refusal
	Approval *Approval `json:"approval,omitempty"`
}

// approve accepts exactly the state that the page showed, identified by its
// hash.
func (p *serverPages) approve(r *api.Request, schema, name string) (any, error) {
	var body struct {
		Hash string `json:"hash"`
	}
	if r.ContentLength != 0 {
		if err := r.Decode(&body); err != nil {
			return nil, err
		}
	}
	err := p.servers.Approve(r.Context(), r.Who, schema, name, body.Hash)
	if errors.Is(err, api.ErrChanged) {
		answer := changedBody{Refusal: api.Refusal{Error: api.ErrorBody{Code: "changed", Message: errUnseen.In(r.Lang())}}}
		if d, err := p.servers.Detail(schema, name); err == nil {
			answer.Approval = d.Approval
		}
		return api.With(http.StatusConflict, answer), nil
	}
	return nil, err
}

var errUnseen = i18n.New("nothing was approved: this is not what was shown; look at what it is now", "没有批准：这与显示的内容不同；请查看现在的内容")

// signIn returns the URL where the user signs in. The page opens the URL and
// follows the steps.
func (p *serverPages) signIn(schema, name string) (any, error) {
	s := p.signIns.begin(schema, name)
	address, err := p.servers.SignIn(p.ctx, schema, name, s.step, s.end)
	if err != nil {
		return nil, err
	}
	return map[string]string{"address": address}, nil
}
