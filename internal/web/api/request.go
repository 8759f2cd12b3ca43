package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
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
	text   io.Reader
	file   func(most int64) io.ReadCloser
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

const (
	// MaxBody is the size limit of a request's body.
	MaxBody = 10 << 20
	// maxForeign is the same for a request without a credential.
	maxForeign = 4 << 10
)

// A BodyFunc returns a reader of the body of a request, of at most most bytes. A
// read fails with full if who holds too much of other bodies.
type BodyFunc func(w http.ResponseWriter, r *http.Request, who string, most int64, full error) io.ReadCloser

var errFull = Refuse(http.StatusServiceUnavailable, "overloaded", i18n.New("the unfinished requests of this key or address have their share: finish some, or set limits.unfinishedPerKey",
	"此密钥或地址未完成的请求已达上限：请先完成一部分，或调整 limits.unfinishedPerKey"))

var errNoRoom = Refuse(http.StatusServiceUnavailable, "overloaded", i18n.New("the gateway is short of memory: try again later, or raise limits.memory",
	"网关内存不足：请稍后重试，或调大 limits.memory"))

// open opens the body of a request, which counts for who.
func (f BodyFunc) open(w http.ResponseWriter, r *http.Request, who string, most int64) io.ReadCloser {
	switch {
	case r.Body == nil:
		return http.NoBody
	case f == nil:
		return http.MaxBytesReader(w, r.Body, most)
	}
	if r.ContentLength > 0 {
		most = min(most, r.ContentLength)
	}
	return f(w, r, who, most, errFull)
}

// Foreign opens the body of a request without a credential. It counts for the
// address that it comes from.
func (f BodyFunc) Foreign(w http.ResponseWriter, r *http.Request, most int64) io.ReadCloser {
	host, _, _ := net.SplitHostPort(r.RemoteAddr) // a local socket has none
	return f.open(w, r, "address "+host, most)
}

// File returns a reader of the body for a handler that stores it in a file. So it
// may be large, and does not count as memory.
func (r *Request) File(most int64) io.Reader { return r.file(most) }

// Text reads the whole body.
func (r *Request) Text() ([]byte, error) {
	text, err := io.ReadAll(r.text)
	if err != nil {
		return nil, unreadable(err)
	}
	return text, nil
}

// Decode reads the body as JSON.
func (r *Request) Decode(v any) error {
	dec := json.NewDecoder(r.text)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return unreadable(err)
	}
	return nil
}

// unreadable returns the error for a request that cannot be read.
func unreadable(err error) error {
	why := i18n.New("reading the request: %v", "读取请求失败：%v", err)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return Refuse(http.StatusRequestEntityTooLarge, "too_large", why)
	}
	switch {
	case errors.Is(err, errFull):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Refuse(http.StatusRequestTimeout, "timeout", i18n.New("the request did not arrive in time", "请求未及时到达"))
	}
	return BadRequest(why)
}
