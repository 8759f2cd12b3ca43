package bench

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/web/api"
)

const maxPages = 1000

// Routes returns the routes that open sessions and use them.
func (b *Benches) Routes() []api.Route {
	route := api.NewRoute
	return []api.Route{
		route("GET", "bench", api.ScopeRead, b.getBenches),
		route("POST", "bench", api.ScopeCall, b.postBench),
		route("GET", "bench/{bench}", api.ScopeRead, b.getBench),
		route("DELETE", "bench/{bench}", api.ScopeCall, b.deleteBench),
		route("GET", "bench/{bench}/list/{kind}", api.ScopeRead, b.getList),
		route("POST", "bench/{bench}/calls", api.ScopeCall, b.postCall),
		route("DELETE", "bench/{bench}/calls/{run}", api.ScopeCall, b.deleteCall),
		route("PUT", "bench/{bench}/roots", api.ScopeCall, b.putRoots),
		route("PUT", "bench/{bench}/chaos", api.ScopeCall, b.putChaos),
	}
}

type openBody struct {
	Target Target `json:"target"`
	// Fresh opens a new session even if one exists.
	Fresh   bool   `json:"fresh"`
	Confirm string `json:"confirm"`
}

func (b *Benches) getBenches(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, b.list(r.Who))
}

func (b *Benches) postBench(w http.ResponseWriter, r *api.Request) {
	var body openBody
	if !r.Read(w, &body) {
		return
	}
	t := &body.Target
	if !t.allowed(w, r) || !api.Confirmed(w, r, t.Command, t.Args, body.Confirm) {
		return
	}
	x, err := b.open(r.Context(), r.Who, *t, body.Fresh)
	if err != nil {
		var lines []string
		if x != nil {
			lines = x.body().Lines
		}
		api.Reply(w, http.StatusBadGateway, openError{api.ErrorBody{Code: "connect", Message: r.Lang().Of(err)}, lines})
		return
	}
	api.Reply(w, http.StatusOK, x.body())
}

// allowed reports whether the principal may use the target, and answers a
// refusal itself. Without scope admin the only way to a server is through the
// gateway, where its policies apply.
func (t *Target) allowed(w http.ResponseWriter, r *api.Request) bool {
	if api.May(r.Who, api.ScopeAdmin) {
		return true
	}
	if t.Via == "" && t.Server != "" && t.Command == "" && t.URL == "" {
		t.Via = ViaGateway
	}
	if t.Via != ViaGateway || t.Command != "" || t.URL != "" {
		api.RefuseDirect(w, r)
		return false
	}
	if t.As != "" {
		api.Fail(w, r.Request, http.StatusForbidden, "scope", i18n.New("imitating a client needs the scope %s", "模仿客户端需要权限 %s", api.ScopeAdmin))
		return false
	}
	return true
}

type openError struct {
	Error api.ErrorBody `json:"error"`
	// Lines holds the server's error output.
	Lines []string `json:"lines,omitempty"`
}

// find returns the session that the request names. It answers 404 itself if the
// session is closed.
func (b *Benches) find(w http.ResponseWriter, r *api.Request) *bench {
	x := b.get(r.Who, r.Param("bench"))
	if x == nil {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this session is closed", "会话已关闭"))
	}
	return x
}

func (b *Benches) getBench(w http.ResponseWriter, r *api.Request) {
	if x := b.find(w, r); x != nil {
		api.Reply(w, http.StatusOK, x.body())
	}
}

func (b *Benches) deleteBench(w http.ResponseWriter, r *api.Request) {
	if !b.close(r.Who, r.Param("bench")) {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this session is closed", "会话已关闭"))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// methodSkillsList belongs to the skills extension (SEP-2640).
const methodSkillsList = "skills/list"

// lists maps the kinds of getList to the method and the result member that
// holds the items.
var lists = map[string][2]string{
	"tools":     {mcp.MethodToolsList, "tools"},
	"resources": {mcp.MethodResourcesList, "resources"},
	"templates": {mcp.MethodTemplatesList, "resourceTemplates"},
	"prompts":   {mcp.MethodPromptsList, "prompts"},
	"skills":    {methodSkillsList, "skills"},
}

type listBody struct {
	Items json.RawMessage `json:"items"`
	Took  time.Duration   `json:"took"`
}

func (b *Benches) getList(w http.ResponseWriter, r *api.Request) {
	x := b.find(w, r)
	if x == nil {
		return
	}
	kind, ok := lists[r.Param("kind")]
	if !ok {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("the lists are tools, resources, templates, prompts and skills", "可用的列表是 tools、resources、templates、prompts 和 skills"))
		return
	}
	began := time.Now()
	items := x.cached(r.Param("kind"))
	if items == nil || r.URL.Query().Has("fresh") {
		var err error
		if items, err = x.list(r.Context(), kind[0], kind[1]); err != nil {
			api.Fail(w, r.Request, http.StatusBadGateway, "list", i18n.Why(err))
			return
		}
		x.cache(r.Param("kind"), items)
	}
	api.Reply(w, http.StatusOK, listBody{items, time.Since(began)})
}

func (x *bench) cached(kind string) json.RawMessage {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lists[kind]
}

func (x *bench) cache(kind string, items json.RawMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lists[kind] = items
}

// list reads all pages. It returns the items unchanged.
func (x *bench) list(ctx context.Context, method, member string) (json.RawMessage, error) {
	items := []byte{'['}
	var params json.RawMessage
	seen := map[string]bool{}
	for range maxPages {
		ex, err := x.quiet(ctx, method, params)
		if err != nil {
			return nil, err
		}
		if ex.Error != nil {
			return nil, answered(ex.Error)
		}
		for item := range jsonrpc.Elements(jsonrpc.Get(ex.Result, member)) {
			if len(items) > 1 {
				items = append(items, ',')
			}
			items = append(items, item...)
		}
		cursor := jsonrpc.Get(ex.Result, "nextCursor")
		if cursor == nil || string(cursor) == "null" {
			return append(items, ']'), nil
		}
		if seen[string(cursor)] {
			return nil, i18n.Errorf("%s gave the same cursor twice", "%s 两次返回相同的游标", method)
		}
		seen[string(cursor)] = true
		params = jsonrpc.Set([]byte("{}"), cursor, "cursor")
	}
	return nil, i18n.Errorf("%s has more than %d pages", "%s 超过 %d 页", method, maxPages)
}

// answered converts an error object from a server to an error.
func answered(raw json.RawMessage) error {
	message, _ := jsonrpc.GetString(raw, "message")
	return i18n.Errorf("MCP error %s: %s", "MCP 错误 %s：%s", string(jsonrpc.Get(raw, "code")), message)
}

func (b *Benches) postCall(w http.ResponseWriter, r *api.Request) {
	var body callBody
	x := b.find(w, r)
	if x == nil || !r.Read(w, &body) {
		return
	}
	run, err := x.start(&body)
	if err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return
	}
	api.Reply(w, http.StatusAccepted, run)
}

func (b *Benches) deleteCall(w http.ResponseWriter, r *api.Request) {
	x := b.find(w, r)
	if x == nil {
		return
	}
	x.mu.Lock()
	run := x.running[r.Param("run")]
	x.mu.Unlock()
	if run == nil {
		api.Fail(w, r.Request, http.StatusGone, "gone", i18n.New("this call has ended", "调用已结束"))
		return
	}
	run.cancel(errRunCancelled)
	w.WriteHeader(http.StatusNoContent)
}

func (b *Benches) putRoots(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Roots []Root `json:"roots"`
	}
	x := b.find(w, r)
	if x == nil || !r.Read(w, &body) {
		return
	}
	if err := x.session.SetRoots(r.Context(), body.Roots); err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	x.mu.Lock()
	x.target.Roots = body.Roots
	x.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
