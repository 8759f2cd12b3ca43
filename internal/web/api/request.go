package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
)

// A Request is an HTTP request together with the results of routing. Who is
// authenticated and has the scope of the route.
type Request struct {
	*http.Request
	Who    access.Principal
	params map[string]string
}

// typedKey marks a request from the command line.
type typedKey struct{}

// Typed marks the context of a request from the command line, not from a browser.
func Typed(ctx context.Context) context.Context { return context.WithValue(ctx, typedKey{}, true) }

// IsTyped reports whether a request comes from the command line.
func IsTyped(ctx context.Context) bool { return ctx.Value(typedKey{}) != nil }

// Param returns a parameter of the route's pattern.
func (r *Request) Param(name string) string { return r.params[name] }

// Number parses a query parameter. It returns otherwise if the parameter is
// invalid, and at most most.
func (r *Request) Number(name string, otherwise, most int64) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil || n < 0 {
		return otherwise
	}
	return min(n, most)
}

// Lang returns the language of the page.
func (r *Request) Lang() i18n.Lang { return langOf(r.Request) }

func langOf(r *http.Request) i18n.Lang { return i18n.ByTag(r.Header.Get("Accept-Language")) }

// MaxBody bounds the body of a request.
const MaxBody = 10 << 20

// Decode reads the body as JSON, at most MaxBody.
func (r *Request) Decode(v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(nil, r.Body, MaxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return Unreadable(err)
	}
	return nil
}

// Unreadable returns the error for a request that cannot be read.
func Unreadable(err error) error {
	return BadRequest(i18n.New("reading the request: %v", "读取请求失败：%v", err))
}
