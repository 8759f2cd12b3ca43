// Package failure tells what went wrong between us and a server.
//
// It says what an error means for the call and the connection, and makes the one
// error that a client gets of it.
package failure

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/upstream/backoff"
)

// ErrSlow is in the error of a server that did not answer in time.
var ErrSlow = i18n.Errorf("the server did not answer in time", "服务未及时应答")

// Why a call is ended that the server has not answered.
var (
	ErrIdle = i18n.Errorf("the server sent neither an answer nor progress in time", "服务在时限内没有任何响应")
	ErrLong = i18n.Errorf("the call did not finish in time", "调用没有在时限内结束")
)

// TooLate is why a handshake ended, with the way out.
func TooLate(limit time.Duration) error {
	return i18n.Errorf("the server did not answer the handshake within %s (limits.handshake sets the limit): %w", "服务在 %s 内没有应答握手（由 limits.handshake 限定）：%w", limit, ErrSlow)
}

// IsAuth says that a server refused us for who we are.
func IsAuth(err error) bool {
	status := StatusOf(err)
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// RefusesValues says that a server may have refused what a user brought along:
// not a token that is known to have ended.
func RefusesValues(err error) bool {
	signIn := wantsSignIn(err)
	return StatusOf(err) == http.StatusUnauthorized && (signIn == nil || !signIn.Again)
}

// A Lost is a refusal that says that the request did not run.
type Lost struct{ Err error }

func (l *Lost) Error() string { return l.Err.Error() }

// In says it in a language.
func (l *Lost) In(lang i18n.Lang) string { return lang.Of(l.Err) }

// Unwrap is why it did not run.
func (l *Lost) Unwrap() error { return l.Err }

// Refusal returns err as a *Lost when it is one: our session is unknown there,
// or the request was turned away before it was processed.
func Refusal(err error) error {
	var status *httpclient.StatusError
	var refresh *oauth.RefreshError
	if !errors.As(err, &status) {
		if httpclient.NotSent(err) || errors.As(err, &refresh) {
			return &Lost{err}
		}
		return nil
	}
	switch {
	case status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable || status.Status == http.StatusMisdirectedRequest || forgotten(status):
		return &Lost{err}
	}
	return nil
}

// forgotten says that a server does not know our session any more: by the
// status that the protocol gives it, or by the one that the examples of a
// popular SDK gave it, where the text tells.
func forgotten(s *httpclient.StatusError) bool {
	switch {
	case s.Modern:
		return false
	case s.Status == http.StatusNotFound:
		return true
	case s.Status == http.StatusBadRequest:
		text := strings.ToLower(string(s.Body[:min(len(s.Body), 512)]))
		return strings.Contains(text, "session id") || strings.Contains(text, "not initialized")
	}
	return false
}

// IsRefusal says that an error is a Refusal.
func IsRefusal(err error) bool {
	var l *Lost
	return errors.As(err, &l)
}

// StatusOf is the status with which a server refused a request; 0 for other
// errors.
func StatusOf(err error) int {
	var status *httpclient.StatusError
	if errors.As(err, &status) {
		return status.Status
	}
	if signIn := wantsSignIn(err); signIn != nil {
		return signIn.Status
	}
	return 0
}

// wantsSignIn returns err as the sign-in that would help, nil when none would.
func wantsSignIn(err error) *oauth.SignInError {
	var signIn *oauth.SignInError
	if errors.As(err, &signIn) {
		return signIn
	}
	return nil
}

// AnswersOtherEra says whether a refused handshake may mean that the server
// speaks the other era: it answered, and what it said is about the message.
func AnswersOtherEra(err error) bool {
	var wire *jsonrpc.Error
	var status *httpclient.StatusError
	if errors.As(err, &status) {
		return status.Modern || status.Status == 400 || status.Status == 404 || status.Status == 405
	}
	return errors.As(err, &wire)
}

// FallsBackToSSE says whether a refusal of streamable HTTP means that an older
// server is there: 400, 404 or 405 without a modern error body.
func FallsBackToSSE(err error) bool {
	var status *httpclient.StatusError
	if !errors.As(err, &status) || status.Modern {
		return false
	}
	return status.Status == http.StatusBadRequest || status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed
}

// RetryAfter is how long a server asks us to stay away, within reason.
func RetryAfter(err error) time.Duration {
	var status *httpclient.StatusError
	if !errors.As(err, &status) {
		return 0
	}
	text := status.Header.Get("Retry-After")
	if s, err := strconv.Atoi(text); err == nil {
		return max(0, min(time.Duration(s)*time.Second, backoff.Cap))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(time.Until(at), backoff.Cap))
	}
	return 0
}

// Cause prefers the reason why a context ended to the bare fact.
func Cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && errors.Is(err, ctx.Err()) {
		return c
	}
	return err
}
