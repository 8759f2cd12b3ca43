// Package api defines the HTTP API of the console: its routes, the scopes that
// they need, and the bodies of requests, responses and refusals.
package api

import (
	"cmp"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
)

// Prefix is the path prefix of every route.
const Prefix = "/api/v1/"

// ChangeHeader is required on every request that changes something. A form or a
// link of another site cannot set it.
const ChangeHeader = "X-MCP-AIO"

// The scopes of the API. Each scope includes the scopes before it.
const (
	// ScopeNone is for logging in.
	ScopeNone = ""
	// ScopeRead allows reading.
	ScopeRead = "read"
	// ScopeCall allows using configured servers and answering questions.
	ScopeCall = "call"
	// ScopeAdmin allows changing the config and running new commands.
	ScopeAdmin = "admin"
)

var scopeOrder = []string{ScopeNone, ScopeRead, ScopeCall, ScopeAdmin}

// ScopeOf returns the scope that a principal's grant gives it.
func ScopeOf(who access.Principal) string {
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

// May reports whether a principal has a scope.
func May(who access.Principal, scope string) bool {
	return slices.Index(scopeOrder, ScopeOf(who)) >= slices.Index(scopeOrder, scope)
}

// seesTarget reports whether a principal sees the schema or server that the
// path names. An administrator that is bound to some servers manages only
// those.
func seesTarget(who access.Principal, params map[string]string) bool {
	schema, named := params["schema"]
	return !named || who.MaySee(schema, cmp.Or(params["server"], params["name"]), "")
}

// An AnswerFunc returns what a Route answers: a value that is sent as JSON, a
// HandlerFunc that writes the response, or nil for no content.
type AnswerFunc func(r *Request) (any, error)

// A HandlerFunc writes the response of a Route.
type HandlerFunc func(w http.ResponseWriter, r *Request)

// A Route is an endpoint of the API.
type Route struct {
	Method  string
	Pattern string // segments; {x} is a parameter
	Scope   string
	Serve   HandlerFunc
	// Stays is set if what the request brings stays in memory.
	Stays bool
}

// NewRoute returns a Route that answers with the result of f.
func NewRoute(method, pattern, scope string, f AnswerFunc) Route {
	return Route{Method: method, Pattern: pattern, Scope: scope, Serve: answer(f)}
}

// Reading returns an AnswerFunc for a handler that gets the body of the request,
// read as JSON.
func Reading[Body any](f func(r *Request, body Body) (any, error)) AnswerFunc {
	return func(r *Request) (any, error) {
		var body Body
		if err := r.Decode(&body); err != nil {
			return nil, err
		}
		return f(r, body)
	}
}

// Staying returns the route for requests that bring what stays in memory.
func (r Route) Staying() Route {
	r.Stays = true
	return r
}

// A Router serves the API.
type Router struct {
	Routes []Route
	// Identify returns the principal of a request; false refuses the request.
	Identify func(r *http.Request) (access.Principal, bool)
	// Body reads bodies; nil bounds only their size.
	Body BodyFunc
	// HasRoom returns an error while memory is too short for a route that Stays;
	// nil always has room.
	HasRoom func() error
}

func (a *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, params, allow := a.Find(r)
	if rt == nil {
		if len(allow) > 0 {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			Fail(w, r, http.StatusMethodNotAllowed, "method", i18n.New("use %s", "请使用 %s", strings.Join(allow, ", ")))
			return
		}
		Fail(w, r, http.StatusNotFound, "not_found", i18n.New("no such part of the API", "API 没有这个部分"))
		return
	}
	if r.Method != http.MethodGet {
		if !SameOrigin(r) {
			Fail(w, r, http.StatusForbidden, "origin", i18n.New("the request comes from another site", "请求来自其他网站"))
			return
		}
		if r.Header.Get(ChangeHeader) == "" {
			Fail(w, r, http.StatusForbidden, "header", i18n.New("the header %s: 1 is missing", "缺少请求头 %s: 1", ChangeHeader))
			return
		}
	}
	req := &Request{Request: r, params: params}
	if rt.Scope != ScopeNone {
		who, ok := a.Identify(r)
		if !ok {
			Fail(w, r, http.StatusUnauthorized, "login", i18n.New("log in with: mcp-all-in-one ui", "请用以下命令登录：mcp-all-in-one ui"))
			return
		}
		if !May(who, rt.Scope) {
			Fail(w, r, http.StatusForbidden, "scope", i18n.New("this needs the scope %s", "此操作需要权限 %s", rt.Scope))
			return
		}
		if !seesTarget(who, params) {
			FailWith(w, r, ErrNotFound)
			return
		}
		req.Who = who
	}
	if rt.Stays && a.HasRoom != nil && a.HasRoom() != nil {
		FailWith(w, r, errNoRoom)
		return
	}
	req.file = func(most int64) io.ReadCloser { return a.Body.open(w, r, "", most) }
	var text io.ReadCloser
	if req.Who.ID == "" {
		text = a.Body.Foreign(w, r, maxForeign)
	} else {
		text = a.Body.open(w, r, req.Who.ID, MaxBody)
	}
	defer text.Close()
	req.text = text
	rt.Serve(w, req)
}

// Find matches the path segment by segment, exactly as it was sent. If the path
// exists but not with this method, Find returns the allowed methods.
func (a *Router) Find(r *http.Request) (rt *Route, params map[string]string, allow []string) {
	got := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), Prefix), "/")
	for i := range a.Routes {
		found, ok := matchSegments(strings.Split(a.Routes[i].Pattern, "/"), got)
		if !ok {
			continue
		}
		if a.Routes[i].Method == r.Method {
			return &a.Routes[i], found, nil
		}
		allow = append(allow, a.Routes[i].Method)
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

// SameOrigin reports whether the Origin header of a request, if present, equals
// the request's host.
func SameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
