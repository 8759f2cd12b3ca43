package web

import (
	"net/http"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
)

// A Route is a part of the API that another package answers.
type Route struct {
	Method  string
	Pattern string // segments; {x} is a parameter
	Scope   string
	// Serve returns the answer, nil for none, or why it is refused.
	Serve func(r *Request) (any, error)
}

// A Request is a request for a Route. Who is known, and has its scope.
type Request struct {
	*http.Request
	Who    access.Principal
	params map[string]string
}

// Param is a parameter of the pattern.
func (r *Request) Param(name string) string { return r.params[name] }

// Lang is the language that the page is in.
func (r *Request) Lang() i18n.Lang { return langOf(r.Request) }

// Decode reads the body, at most 10 MiB of JSON.
func (r *Request) Decode(v any) error { return decode(nil, r.Request, v) }

func (rt *Route) route() route {
	return route{rt.Method, rt.Pattern, rt.Scope, func(w http.ResponseWriter, r *request) {
		switch answer, err := rt.Serve(&Request{r.Request, r.who, r.params}); {
		case err != nil:
			failWith(w, r.Request, err)
		case answer == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			reply(w, http.StatusOK, answer)
		}
	}}
}
