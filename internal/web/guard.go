package web

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// ChangeHeader must be on every request that changes something: a form or a
// link of another site cannot set it.
const ChangeHeader = "X-MCP-AIO"

const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"frame-src 'self'; img-src 'self' data: blob:; media-src data: blob:; font-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func isLoopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// sameOrigin reports whether a request's Origin, when it has one, is the host
// that it was sent to.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// apiError is the body of every refusal.
type apiError struct {
	Error apiErrorBody `json:"error"`
}

type apiErrorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Run is the command that the request would start; send it back as
	// confirm.
	Run string `json:"run,omitempty"`
}

// fail refuses a request, in the language of its sender.
func fail(w http.ResponseWriter, r *http.Request, status int, code string, message i18n.Text) {
	reply(w, status, apiError{apiErrorBody{Code: code, Message: message.In(langOf(r))}})
}

// langOf is the language that the page is in.
func langOf(r *http.Request) i18n.Lang { return i18n.ByTag(r.Header.Get("Accept-Language")) }

// failWith answers what a backend returned.
func failWith(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrNotFound) {
		fail(w, r, http.StatusNotFound, "not_found", i18n.Why(err))
		return
	}
	if errors.Is(err, ErrOwnRequest) {
		fail(w, r, http.StatusForbidden, "own_request", i18n.Why(err))
		return
	}
	if errors.Is(err, ErrChanged) {
		fail(w, r, http.StatusConflict, "changed", i18n.Why(err))
		return
	}
	fail(w, r, http.StatusUnprocessableEntity, "refused", i18n.Why(err))
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if v != nil {
		// A failed write means that the client is gone; nobody is left to tell.
		_ = json.NewEncoder(w).Encode(v)
	}
}

// read decodes a request's body, and answers 400 itself.
func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := decode(w, r, v); err != nil {
		fail(w, r, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return false
	}
	return true
}

// decode reads a body of JSON, at most 10 MiB.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 10<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return i18n.Errorf("reading the request: %w", "读取请求失败：%w", err)
	}
	return nil
}
