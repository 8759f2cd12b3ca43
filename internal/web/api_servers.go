package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
)

var safeWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// commandLine is how a command would be typed into a shell.
func commandLine(command string, args []string) string {
	words := make([]string, 0, len(args)+1)
	for _, w := range append([]string{command}, args...) {
		if !safeWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// confirmed refuses a request that would run a new command until it repeats
// that command: the page must have shown it.
func confirmed(w http.ResponseWriter, r *http.Request, command string, args []string, confirm string) bool {
	if command == "" {
		return true
	}
	run := commandLine(command, args)
	if confirm == run {
		return true
	}
	reply(w, http.StatusConflict, apiError{apiErrorBody{Code: "confirm", Message: i18n.New("this will run a command", "此操作将运行一条命令").In(langOf(r)), Run: run}})
	return false
}

type overviewBody struct {
	Servers []Server   `json:"servers"`
	Clients []Client   `json:"clients"`
	Inbox   []Question `json:"inbox"`
	Stats   any        `json:"stats"`
	Rev     uint64     `json:"rev"`
	// Unread is what the config file says that was not read yet.
	Unread *Unread `json:"unread,omitempty"`
}

func (h *Handler) getOverview(w http.ResponseWriter, r *request) {
	reply(w, http.StatusOK, overviewBody{h.servers(r.who), h.clients(r.who), h.opt.Inbox.List(r.who), h.stats(r.who), h.opt.Traffic.Rev(), h.unread(r.who)})
}

// unread is for those who may read the file again.
func (h *Handler) unread(who access.Principal) *Unread {
	if h.opt.Unread == nil || !who.MayConfigure() {
		return nil
	}
	return h.opt.Unread()
}

// getUnread says what the config file holds that was not read yet; null when it
// holds nothing new.
func (h *Handler) getUnread(w http.ResponseWriter, r *request) {
	reply(w, http.StatusOK, h.unread(r.who))
}

func (h *Handler) getServers(w http.ResponseWriter, r *request) {
	reply(w, http.StatusOK, h.servers(r.who))
}

func (h *Handler) getClients(w http.ResponseWriter, r *request) {
	reply(w, http.StatusOK, h.clients(r.who))
}

func (h *Handler) getServer(w http.ResponseWriter, r *request) {
	d, err := h.opt.Servers.Detail(r.params["schema"], r.params["name"])
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	if !r.who.MayConfigure() {
		d.Approval = nil // it has every value of the entry
	}
	reply(w, http.StatusOK, d.shownTo(r.who))
}

type saveBody struct {
	Entry json.RawMessage `json:"entry"`
	// Confirm is the command line that the page has shown.
	Confirm string `json:"confirm"`
}

func (h *Handler) putServer(w http.ResponseWriter, r *request) {
	var body saveBody
	if !read(w, r.Request, &body) {
		return
	}
	var entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if err := json.Unmarshal(body.Entry, &entry); err != nil {
		fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.New("reading the entry: %v", "读取条目失败：%v", err))
		return
	}
	schema, name := r.params["schema"], r.params["name"]
	if !h.runsAlready(schema, name, entry.Command, entry.Args) &&
		!confirmed(w, r.Request, entry.Command, entry.Args, body.Confirm) {
		return
	}
	if err := h.opt.Servers.Save(r.Context(), schema, name, body.Entry); err != nil {
		failWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// runsAlready reports whether a server has this very command, so that saving
// it starts nothing new.
func (h *Handler) runsAlready(schema, name, command string, args []string) bool {
	d, err := h.opt.Servers.Detail(schema, name)
	if err != nil {
		return false
	}
	var entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	return json.Unmarshal(d.Entry, &entry) == nil && commandLine(entry.Command, entry.Args) == commandLine(command, args)
}

func (h *Handler) deleteServer(w http.ResponseWriter, r *request) {
	undo, err := h.opt.Servers.Remove(r.Context(), r.params["schema"], r.params["name"])
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	reply(w, http.StatusOK, map[string]string{"undo": h.undos.add(undo)})
}

func (h *Handler) postServer(w http.ResponseWriter, r *request) {
	s := h.opt.Servers
	actions := map[string]func(ctx context.Context, schema, name string) error{
		"enable":  func(ctx context.Context, schema, name string) error { return s.SetEnabled(ctx, schema, name, true) },
		"disable": func(ctx context.Context, schema, name string) error { return s.SetEnabled(ctx, schema, name, false) },
		"restart": s.Restart,
	}
	switch r.params["action"] {
	case "signin":
		h.signIn(w, r)
		return
	case "approve":
		h.approve(w, r)
		return
	}
	action := actions[r.params["action"]]
	if action == nil {
		fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("the actions are enable, disable, restart, approve and signin", "可用的操作是 enable、disable、restart、approve 和 signin"))
		return
	}
	if err := action(r.Context(), r.params["schema"], r.params["name"]); err != nil {
		failWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// changedBody is the answer to an approval of what is no longer there: what is
// there now.
type changedBody struct {
	apiError
	Approval *Approval `json:"approval,omitempty"`
}

// approve accepts what the page has shown, and nothing else.
func (h *Handler) approve(w http.ResponseWriter, r *request) {
	var body struct {
		Hash string `json:"hash"`
	}
	if r.ContentLength != 0 && !read(w, r.Request, &body) {
		return
	}
	schema, name := r.params["schema"], r.params["name"]
	err := h.opt.Servers.Approve(r.Context(), r.who, schema, name, body.Hash)
	if errors.Is(err, ErrChanged) {
		answer := changedBody{apiError: apiError{apiErrorBody{Code: "changed", Message: errUnseen.In(langOf(r.Request))}}}
		if d, err := h.opt.Servers.Detail(schema, name); err == nil {
			answer.Approval = d.Approval
		}
		reply(w, http.StatusConflict, answer)
		return
	}
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

var errUnseen = i18n.New("nothing was approved: this is not what was shown; look at what it is now", "没有批准：这与显示的内容不同；请查看现在的内容")

// signIn answers the address where a person signs in; the page opens it.
func (h *Handler) signIn(w http.ResponseWriter, r *request) {
	address, err := h.opt.Servers.SignIn(h.ctx, r.params["schema"], r.params["name"])
	if err != nil {
		failWith(w, r.Request, err)
		return
	}
	reply(w, http.StatusOK, map[string]string{"address": address})
}
