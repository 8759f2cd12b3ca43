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
}

func (h *Handler) getOverview(w http.ResponseWriter, r *api.Request) {
	body := overviewBody{h.sight.servers(r.Who), h.sight.clients(r.Who), h.opt.Inbox.List(r.Who), h.sight.stats(r.Who), h.opt.Traffic.Rev(), h.unread(r.Who), nil}
	api.Reply(w, http.StatusOK, h.joined.overview(r, body))
}

// unread returns the unread changes of the config file; nil for a principal
// that may not reload it.
func (h *Handler) unread(who access.Principal) *Unread {
	if h.opt.Unread == nil || !who.MayConfigure() {
		return nil
	}
	return h.opt.Unread()
}

// getUnread serves the changes of the config file that the gateway has not read
// yet; null if there are none.
func (h *Handler) getUnread(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, h.unread(r.Who))
}

func (h *Handler) getClients(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, h.joined.clients(r, h.sight.clients(r.Who)))
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

func (p *serverPages) getAll(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, p.joined.servers(r, p.sight.servers(r.Who)))
}

func (p *serverPages) get(w http.ResponseWriter, r *api.Request) {
	d, err := p.servers.Detail(r.Param("schema"), r.Param("name"))
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	if !r.Who.MayConfigure() {
		d.Approval = nil // it contains every value of the entry
	}
	api.Reply(w, http.StatusOK, d.shownTo(r.Who))
}

type saveBody struct {
	Entry json.RawMessage `json:"entry"`
	// Confirm is the command line that the page showed to the user.
	Confirm string `json:"confirm"`
}

func (p *serverPages) put(w http.ResponseWriter, r *api.Request) {
	var body saveBody
	if !r.Read(w, &body) {
		return
	}
	var entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if err := json.Unmarshal(body.Entry, &entry); err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.New("reading the entry: %v", "读取条目失败：%v", err))
		return
	}
	schema, name := r.Param("schema"), r.Param("name")
	if !p.runsAlready(schema, name, entry.Command, entry.Args) &&
		!api.Confirmed(w, r, entry.Command, entry.Args, body.Confirm) {
		return
	}
	if err := p.servers.Save(r.Context(), schema, name, body.Entry); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// runsAlready reports whether the server already has exactly this command, so
// that saving the entry starts nothing new.
func (p *serverPages) runsAlready(schema, name, command string, args []string) bool {
	d, err := p.servers.Detail(schema, name)
	if err != nil {
		return false
	}
	var entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	return json.Unmarshal(d.Entry, &entry) == nil && entry.Command == command && slices.Equal(entry.Args, args)
}

func (p *serverPages) delete(w http.ResponseWriter, r *api.Request) {
	undo, err := p.servers.Remove(r.Context(), r.Param("schema"), r.Param("name"))
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, map[string]string{"undo": p.undos.add(undo)})
}

func (p *serverPages) post(w http.ResponseWriter, r *api.Request) {
	s := p.servers
	actions := map[string]func(ctx context.Context, schema, name string) error{
		"enable":  func(ctx context.Context, schema, name string) error { return s.SetEnabled(ctx, schema, name, true) },
		"disable": func(ctx context.Context, schema, name string) error { return s.SetEnabled(ctx, schema, name, false) },
		"restart": s.Restart,
	}
	switch r.Param("action") {
	case "signin":
		p.signIn(w, r)
		return
	case "approve":
		p.approve(w, r)
		return
	}
	action := actions[r.Param("action")]
	if action == nil {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("the actions are enable, disable, restart, approve and signin", "可用的操作是 enable、disable、restart、approve 和 signin"))
		return
	}
	if err := action(r.Context(), r.Param("schema"), r.Param("name")); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (p *serverPages) ping(w http.ResponseWriter, r *api.Request) {
	api.Answer(func(r *api.Request) (any, error) {
		return p.servers.Ping(r.Context(), r.Param("schema"), r.Param("name"))
	})(w, r)
}

// changedBody answers an approval whose hash is out of date. It contains the
// approval that is pending now.
type changedBody struct {
	api.Refusal
	Approval *Approval `json:"approval,omitempty"`
}

// approve accepts exactly the state that the page showed, identified by its
// hash.
func (p *serverPages) approve(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Hash string `json:"hash"`
	}
	if r.ContentLength != 0 && !r.Read(w, &body) {
		return
	}
	schema, name := r.Param("schema"), r.Param("name")
	err := p.servers.Approve(r.Context(), r.Who, schema, name, body.Hash)
	if errors.Is(err, api.ErrChanged) {
		answer := changedBody{Refusal: api.Refusal{Error: api.ErrorBody{Code: "changed", Message: errUnseen.In(r.Lang())}}}
		if d, err := p.servers.Detail(schema, name); err == nil {
			answer.Approval = d.Approval
		}
		api.Reply(w, http.StatusConflict, answer)
		return
	}
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

var errUnseen = i18n.New("nothing was approved: this is not what was shown; look at what it is now", "没有批准：这与显示的内容不同；请查看现在的内容")

// signIn returns the URL where the user signs in. The page opens the URL and
// follows the steps.
func (p *serverPages) signIn(w http.ResponseWriter, r *api.Request) {
	schema, name := r.Param("schema"), r.Param("name")
	s := p.signIns.begin(schema, name)
	address, err := p.servers.SignIn(p.ctx, schema, name, s.step, s.end)
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	api.Reply(w, http.StatusOK, map[string]string{"address": address})
}
