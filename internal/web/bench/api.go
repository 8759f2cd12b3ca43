package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
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
		route("GET", "bench", api.ScopeRead, func(r *api.Request) (any, error) { return b.list(r.Who), nil }),
		route("POST", "bench", api.ScopeCall, api.Reading(b.postBench)).Staying(),
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

func (b *Benches) postBench(r *api.Request, body openBody) (any, error) {
	t := &body.Target
	if err := cmp.Or(t.refused(r.Who), api.Confirm(t.Command, t.Args, body.Confirm)); err != nil {
		return nil, err
	}
	x, err := b.open(r.Context(), r.Who, *t, body.Fresh)
	if errors.Is(err, errLargeTarget) {
		return nil, err
	}
	if err != nil {
		var lines []string
		if x != nil {
			lines = x.body().Lines
		}
		return api.With(http.StatusBadGateway, openError{api.ErrorBody{Code: "connect", Message: r.Lang().Of(err)}, lines}), nil
	}
	return x.body(), nil
}

// refused returns an error if the principal may not use the target. Without
// scope admin the only way to a server is through the gateway, where its policies
// apply.
func (t *Target) refused(who access.Principal) error {
	if api.May(who, api.ScopeAdmin) {
		return nil
	}
	if t.Via == "" && t.Server != "" && t.Command == "" && t.URL == "" {
		t.Via = ViaGateway
	}
	if t.Via != ViaGateway || t.Command != "" || t.URL != "" {
		return api.ErrDirect
	}
	if t.As != "" {
		return api.Refuse(http.StatusForbidden, "scope", i18n.New("imitating a client needs the scope %s", "模仿客户端需要权限 %s", api.ScopeAdmin))
	}
	return nil
}

type openError struct {
	Error api.ErrorBody `json:"error"`
	// Lines holds the server's error output.
	Lines []string `json:"lines,omitempty"`
}

var errNoSession = api.NotFound(i18n.New("this session is closed", "会话已关闭"))

// find returns the session that the request names. It also reads the body of the
// request into v, unless that is nil.
func (b *Benches) find(r *api.Request, v any) (*bench, error) {
	x := b.get(r.Who, r.Param("bench"))
	if x == nil {
		return nil, errNoSession
	}
	if v == nil {
		return x, nil
	}
	return x, r.Decode(v)
}

func (b *Benches) getBench(r *api.Request) (any, error) {
	x, err := b.find(r, nil)
	if err != nil {
		return nil, err
	}
	return x.body(), nil
}

func (b *Benches) deleteBench(r *api.Request) (any, error) {
	if !b.close(r.Who, r.Param("bench")) {
		return nil, errNoSession
	}
	return nil, nil
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

func (b *Benches) getList(r *api.Request) (any, error) {
	x, err := b.find(r, nil)
	if err != nil {
		return nil, err
	}
	kind, ok := lists[r.Param("kind")]
	if !ok {
		return nil, api.NotFound(i18n.New("the lists are tools, resources, templates, prompts and skills", "可用的列表是 tools、resources、templates、prompts 和 skills"))
	}
	began := time.Now()
	items := x.cached(r.Param("kind"))
	if items == nil || r.URL.Query().Has("fresh") {
		if items, err = x.list(r.Context(), kind[0], kind[1]); err != nil {
			return nil, api.Refuse(http.StatusBadGateway, "list", i18n.Why(err))
		}
		x.cache(r.Param("kind"), items)
	}
	return listBody{items, time.Since(began)}, nil
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
		if ex.Err != nil {
			return nil, i18n.Errorf("MCP error %d: %s", "MCP 错误 %d：%s", ex.Err.Code, string(x.session.Redact([]byte(ex.Err.Message))))
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

func (b *Benches) postCall(r *api.Request) (any, error) {
	var body callBody
	x, err := b.find(r, &body)
	if err != nil {
		return nil, err
	}
	run, err := x.start(&body)
	if err != nil {
		return nil, api.BadRequest(i18n.Why(err))
	}
	return api.With(http.StatusAccepted, run), nil
}

func (b *Benches) deleteCall(r *api.Request) (any, error) {
	x, err := b.find(r, nil)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	run := x.running[r.Param("run")]
	x.mu.Unlock()
	if run == nil {
		return nil, api.Refuse(http.StatusGone, "gone", i18n.New("this call has ended", "调用已结束"))
	}
	run.cancel(errRunCancelled)
	return nil, nil
}

func (b *Benches) putRoots(r *api.Request) (any, error) {
	var body struct {
		Roots []config.Root `json:"roots"`
	}
	x, err := b.find(r, &body)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	t := x.target
	x.mu.Unlock()
	t.Roots = body.Roots
	if _, err := targetKey(t); err != nil {
		return nil, err
	}
	if err := x.session.SetRoots(r.Context(), t.Roots); err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.target.Roots = t.Roots
	x.mu.Unlock()
	return nil, nil
}
