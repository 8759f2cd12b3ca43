// Package failure classifies errors between the gateway and a server.
//
// It says what an error means for the call and the connection, and turns it into
// the one error that the client gets.
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

// ErrSlow is wrapped by the error for a server that did not answer in time.
var ErrSlow = i18n.Errorf("the server did not answer in time", "服务器未及时应答")

// The reasons to end a call that the server has not answered.
var (
	ErrIdle = i18n.Errorf("the server sent neither an answer nor progress within its timeout", "服务器在时限内没有任何响应")
	ErrLong = i18n.Errorf("the call did not finish in time", "调用没有在时限内结束")
)

// TooLate returns the error for a handshake that timed out. It names the setting
// that raises the limit.
func TooLate(limit time.Duration) error {
	return i18n.Errorf("%w: no handshake within %s (limits.handshake sets the limit)", "%w：%s 内未完成握手（由 limits.handshake 限定）", ErrSlow, limit)
}

// IsAuth reports whether a server refused our credentials.
func IsAuth(err error) bool {
	status := StatusOf(err)
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// RefusesValues reports whether a server may have refused the values of a user,
// as opposed to a token that is known to have expired.
func RefusesValues(err error) bool {
	signIn := wantsSignIn(err)
	return StatusOf(err) == http.StatusUnauthorized && (signIn == nil || !signIn.Again)
}

// A Lost is a refusal that proves that the request did not run.
type Lost struct{ Err error }

func (l *Lost) Error() string { return l.Err.Error() }

// In returns the message in the given language.
func (l *Lost) In(lang i18n.Lang) string { return lang.Of(l.Err) }

// Unwrap returns the reason why the request did not run.
func (l *Lost) Unwrap() error { return l.Err }

// Refusal returns err as a *Lost if the server does not know our session, or
// turned the request away before it was processed. Otherwise it returns nil.
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

// forgotten reports whether a server does not know our session any more. The
// protocol says 404. The examples of a popular SDK answered 400, where the text
// of the body tells.
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

// IsRefusal reports whether err is or wraps a *Lost.
func IsRefusal(err error) bool {
	var l *Lost
	return errors.As(err, &l)
}

// StatusOf returns the HTTP status with which a server refused a request; 0 for
// other errors.
func StatusOf(err error) int {
	if status, ok := errors.AsType[*httpclient.StatusError](err); ok {
		return status.Status
	}
	if signIn := wantsSignIn(err); signIn != nil {
		return signIn.Status
	}
	return 0
}

// wantsSignIn returns the *oauth.SignInError in err, or nil.
func wantsSignIn(err error) *oauth.SignInError {
	if signIn, ok := errors.AsType[*oauth.SignInError](err); ok {
		return signIn
	}
	return nil
}

// AnswersOtherEra reports whether a refused handshake may mean that the server
// speaks the other era: the server answered, and the answer is about the message.
func AnswersOtherEra(err error) bool {
	var wire *jsonrpc.Error
	if status, ok := errors.AsType[*httpclient.StatusError](err); ok {
		return status.Modern || status.Status == 400 || status.Status == 404 || status.Status == 405
	}
	return errors.As(err, &wire)
}

// FallsBackToSSE reports whether the refusal of streamable HTTP means that this
// is an older server: 400, 404 or 405 without a modern error body.
func FallsBackToSSE(err error) bool {
	var status *httpclient.StatusError
	if !errors.As(err, &status) || status.Modern {
		return false
	}
	return status.Status == http.StatusBadRequest || status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed
}

// RetryAfter returns the delay that a server requests with Retry-After, at most
// backoff.Cap.
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

// Cause returns the cause of the context if err is only the context's error,
// otherwise err.
func Cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && errors.Is(err, ctx.Err()) {
		return c
	}
	return err
}
