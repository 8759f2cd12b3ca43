package web

import (
	"cmp"
	_ "embed" // openapi.json
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
)

const apiPrefix = "/api/v1/"

//go:embed openapi.json
var openAPI []byte

// The scopes of the API. Each includes those before it.
const (
	// ScopeNone is for logging in.
	ScopeNone = ""
	// ScopeRead looks.
	ScopeRead = "read"
	// ScopeCall uses configured servers and answers questions.
	ScopeCall = "call"
	// ScopeAdmin changes the config and runs new commands.
	ScopeAdmin = "admin"
)

var scopeOrder = []string{ScopeNone, ScopeRead, ScopeCall, ScopeAdmin}

// scopeOf is the scope that a principal has by its grant.
func scopeOf(who access.Principal) string {
	switch {
	case who.ID == "":
		return ScopeNone
	case who.MayConfigure():
		return ScopeAdmin
	case who.ReadOnly:
		return ScopeRead
	}
	return ScopeCall
}

func may(who access.Principal, scope string) bool {
	return slices.Index(scopeOrder, scopeOf(who)) >= slices.Index(scopeOrder, scope)
}

// seesTarget says whether a principal sees the schema or the server that a path
// names. An administrator who is bound to some looks after those alone.
func seesTarget(who access.Principal, params map[string]string) bool {
	schema, named := params["schema"]
	return !named || who.MaySee(schema, cmp.Or(params["server"], params["name"]), "")
}

type handlerFunc func(w http.ResponseWriter, r *request)

// A request is an API request with what the router found out.
type request struct {
	*http.Request
	params map[string]string
	who    access.Principal
}

type route struct {
	method  string
	pattern string // segments; {x} is a parameter
	scope   string
	serve   handlerFunc
}

func (h *Handler) table() []route {
	return []route{
		{"GET", "openapi.json", ScopeNone, h.getOpenAPI},
		{"POST", "login", ScopeNone, h.postLogin},
		{"POST", "logout", ScopeRead, h.postLogout},
		{"GET", "session", ScopeRead, h.getSession},
		{"POST", "codes", ScopeAdmin, h.postCode},
		{"GET", "events", ScopeRead, h.getEvents},
		{"GET", "overview", ScopeRead, h.getOverview},
		{"GET", "servers", ScopeRead, h.getServers},
		{"GET", "servers/{schema}/{name}", ScopeRead, h.getServer},
		{"PUT", "servers/{schema}/{name}", ScopeAdmin, h.putServer},
		{"DELETE", "servers/{schema}/{name}", ScopeAdmin, h.deleteServer},
		{"POST", "servers/{schema}/{name}/{action}", ScopeAdmin, h.postServer},
		{"POST", "undo/{undo}", ScopeAdmin, h.postUndo},
		{"POST", "reload", ScopeAdmin, h.postReload},
		{"GET", "clients", ScopeRead, h.getClients},
		{"GET", "catalog", ScopeRead, h.getCatalog},
		{"PUT", "catalog/{schema}/{server}/{kind}/{name}", ScopeAdmin, h.putCatalog},
		{"GET", "programs", ScopeAdmin, h.getPrograms},
		{"POST", "programs/{program}/plan", ScopeAdmin, h.postPlan},
		{"POST", "programs/{program}/apply", ScopeAdmin, h.postApply},
		{"GET", "doctor", ScopeAdmin, h.getDoctor},
		{"GET", "suites", ScopeRead, h.getSuites},
		{"POST", "suites/draft", ScopeRead, h.postDraft},
		{"GET", "suites/{suite}", ScopeRead, h.getSuite},
		{"PUT", "suites/{suite}", ScopeAdmin, h.putSuite},
		{"DELETE", "suites/{suite}", ScopeAdmin, h.deleteSuite},
		{"POST", "suites/{suite}/run", ScopeCall, h.postSuiteRun},
		{"DELETE", "suites/{suite}/run", ScopeCall, h.deleteSuiteRun},
		{"GET", "traffic", ScopeRead, h.getTraffic},
		{"GET", "traffic/export", ScopeRead, h.getTrafficExport},
		{"GET", "traffic/{id}", ScopeRead, h.getTrafficEntry},
		{"GET", "traffic/{id}/body", ScopeRead, h.getTrafficBody},
		{"GET", "logs/{server}", ScopeAdmin, h.getLogs},
		{"GET", "inbox", ScopeRead, h.getInbox},
		{"POST", "inbox/{id}", ScopeCall, h.postInbox},
		{"GET", "bench", ScopeRead, h.getBenches},
		{"POST", "bench", ScopeCall, h.postBench},
		{"GET", "bench/{bench}", ScopeRead, h.getBench},
		{"DELETE", "bench/{bench}", ScopeCall, h.deleteBench},
		{"GET", "bench/{bench}/list/{kind}", ScopeRead, h.getBenchList},
		{"POST", "bench/{bench}/calls", ScopeCall, h.postBenchCall},
		{"DELETE", "bench/{bench}/calls/{run}", ScopeCall, h.deleteBenchCall},
		{"PUT", "bench/{bench}/roots", ScopeCall, h.putBenchRoots},
		{"GET", "runs", ScopeRead, h.getRuns},
		{"POST", "runs", ScopeCall, h.postRuns},
		{"DELETE", "runs", ScopeCall, h.deleteRuns},
		{"GET", "runs/{run}", ScopeRead, h.getRun},
		{"GET", "runs/{run}/body", ScopeRead, h.getRunBody},
		{"POST", "validate", ScopeRead, h.postValidate},
		{"GET", "settings", ScopeAdmin, h.getSettings},
		{"GET", "unread", ScopeAdmin, h.getUnread},
		{"PUT", "settings/{key}", ScopeAdmin, h.putSetting},
	}
}

func (h *Handler) serveAPI(w http.ResponseWriter, r *http.Request) {
	rt, params, allow := h.find(r)
	if rt == nil {
		if len(allow) > 0 {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			fail(w, r, http.StatusMethodNotAllowed, "method", i18n.New("use %s", "请使用 %s", strings.Join(allow, ", ")))
			return
		}
		fail(w, r, http.StatusNotFound, "not_found", i18n.New("no such part of the API", "API 没有这个部分"))
		return
	}
	if r.Method != http.MethodGet {
		if !sameOrigin(r) {
			fail(w, r, http.StatusForbidden, "origin", i18n.New("the request comes from another site", "请求来自其他网站"))
			return
		}
		if r.Header.Get(ChangeHeader) == "" {
			fail(w, r, http.StatusForbidden, "header", i18n.New("the header %s: 1 is missing", "缺少请求头 %s: 1", ChangeHeader))
			return
		}
	}
	req := &request{Request: r, params: params}
	if rt.scope != ScopeNone {
		who, ok := h.identify(r)
		if !ok {
			fail(w, r, http.StatusUnauthorized, "login", i18n.New("log in with: mcp-all-in-one ui", "请用以下命令登录：mcp-all-in-one ui"))
			return
		}
		if !may(who, rt.scope) {
			fail(w, r, http.StatusForbidden, "scope", i18n.New("this needs the scope %s", "此操作需要权限 %s", rt.scope))
			return
		}
		if !seesTarget(who, params) {
			failWith(w, r, ErrNotFound)
			return
		}
		req.who = who
	}
	rt.serve(w, req)
}

// find matches the path segment by segment, exactly as it was sent.
func (h *Handler) find(r *http.Request) (rt *route, params map[string]string, allow []string) {
	got := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), apiPrefix), "/")
	for i := range h.routes {
		found, ok := matchSegments(strings.Split(h.routes[i].pattern, "/"), got)
		if !ok {
			continue
		}
		if h.routes[i].method == r.Method {
			return &h.routes[i], found, nil
		}
		allow = append(allow, h.routes[i].method)
	}
	return nil, nil, allow
}

func matchSegments(want, got []string) (map[string]string, bool) {
	if len(want) != len(got) {
		return nil, false
	}
	var params map[string]string
	for i, w := range want {
		name, isParam := strings.CutPrefix(w, "{")
		if !isParam {
			if w != got[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(got[i])
		if err != nil || value == "" {
			return nil, false
		}
		if params == nil {
			params = make(map[string]string, 2)
		}
		params[strings.TrimSuffix(name, "}")] = value
	}
	return params, true
}

// identify finds out who asks: a bearer token, or the cookie of a login.
func (h *Handler) identify(r *http.Request) (access.Principal, bool) {
	if r.Header.Get("Authorization") != "" {
		if h.opt.Bearer == nil {
			return access.Principal{}, false
		}
		return h.opt.Bearer(r)
	}
	who, ok := h.logins.identify(r)
	if !ok {
		return access.Principal{}, false
	}
	return h.current(who)
}

// current is a principal that was let in before, as it is now; false when its
// credential is no longer good.
func (h *Handler) current(who access.Principal) (access.Principal, bool) {
	if h.opt.Current != nil {
		return h.opt.Current(who)
	}
	return who, who.ID != ""
}

func (h *Handler) getOpenAPI(w http.ResponseWriter, _ *request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(openAPI)
}
