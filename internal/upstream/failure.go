package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/mcphttp/sse"
	"mcp-all-in-one/internal/oauth"
)

// failure turns what went wrong on the way into the one error that the client
// gets.
func (u *Upstream) failure(ctx context.Context, l *link, err error) error {
	if err == nil {
		return nil
	}
	var wire *jsonrpc.Error
	var status *httpclient.StatusError
	var limit *sse.LimitError
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.Is(err, errLong):
		return mcp.Failure(mcp.UpstreamTimeout, u.name, fmt.Sprintf("the call to server %q did not finish within %v (limits.callTotal); whether it ran is unknown", u.name, u.limits.CallTotal))
	case errors.Is(err, errIdle):
		return mcp.Failure(mcp.UpstreamTimeout, u.name, fmt.Sprintf("server %q sent neither an answer nor progress in time; whether the call ran is unknown", u.name))
	case errors.Is(err, jsonrpc.ErrTooLarge) || errors.As(err, &limit):
		u.opt.Hits.Add("serverMessage")
		return mcp.Failure(mcp.ResponseTooLarge, u.name, fmt.Sprintf("the answer of server %q is over the limit of %d bytes", u.name, u.limits.ServerMessage))
	case errors.Is(err, jsonrpc.ErrBadAnswer):
		return mcp.Failure(mcp.UpstreamProtocol, u.name, fmt.Sprintf("the answer of server %q breaks the protocol: %v", u.name, err))
	case isRefusal(err):
		return u.refusedTwice(err)
	case wantsSignIn(err) != nil:
		return u.authFailure(0, err)
	case errors.As(err, &status):
		return u.statusFailure(status)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	u.log.Debug("call ended without an answer", "err", err)
	message := fmt.Sprintf("server %q closed the connection before it answered; whether the call ran is unknown", u.name)
	if l.ended() {
		message = fmt.Sprintf("server %q ended (%v) before it answered; whether the call ran is unknown", u.name, l.err)
		if said := u.lastWords(l); said != "" {
			message += "; it said: " + said
		}
	}
	return mcp.Failure(mcp.UpstreamClosed, u.name, message)
}

// explainWait is how long the one who asks waits to hear how a process ended.
const explainWait = 100 * time.Millisecond

// ended says whether the process behind a connection is known to have ended.
func (l *link) ended() bool {
	if l == nil || l.child == nil {
		return false
	}
	late := time.NewTimer(explainWait)
	defer late.Stop()
	select {
	case <-l.done:
		return l.err != nil
	case <-late.C:
		return false
	}
}

// endedWith says whether the process ended, after a handshake that failed. Its
// pipes break a moment before its end is known; one that answered, or is merely
// slow, is not waited for.
func (l *link) endedWith(err error) bool {
	var answered *jsonrpc.Error
	if errors.As(err, &answered) || errors.Is(err, errHandshake) || errors.Is(err, context.Canceled) {
		return !l.alive()
	}
	return l.ended()
}

// refusedTwice is the error for a request that was turned away, and again: it
// did not run.
func (u *Upstream) refusedTwice(err error) error {
	switch status := statusOf(err); status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return mcp.Failure(mcp.Overloaded, u.name, fmt.Sprintf("server %q answered HTTP %d, twice", u.name, status))
	case 0:
		return mcp.Failure(mcp.UpstreamUnavailable, u.name, fmt.Sprintf("server %q cannot be reached", u.name))
	}
	return mcp.Failure(mcp.UpstreamUnavailable, u.name, fmt.Sprintf("server %q does not keep the session that it gave us", u.name))
}

func (u *Upstream) statusFailure(s *httpclient.StatusError) error {
	switch s.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return u.authFailure(s.Status, nil)
	}
	return mcp.Failure(mcp.UpstreamProtocol, u.name, fmt.Sprintf("server %q answered HTTP %d", u.name, s.Status))
}

// authFailure is the one error for a server that does not let us in.
func (u *Upstream) authFailure(status int, err error) error {
	cfg := u.Config()
	message := "Authentication failed"
	if signIn := wantsSignIn(err); signIn != nil {
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s: %v", message, signIn).
			WithData(map[string]any{"service": u.name, "status": signIn.Status})
	}
	names := cfg.Missing
	if len(names) == 0 {
		names = cfg.Vars
	}
	if len(names) > 0 {
		message += ": Invalid or missing " + strings.Join(names, ", ")
	}
	data := map[string]any{"service": u.name}
	if status != 0 {
		data["status"] = status
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", message).WithData(data)
}

// ErrSlow is in the error of a server that did not answer in time.
var ErrSlow = errHandshake

// isAuth says that a server refused us for who we are.
func isAuth(err error) bool {
	status := statusOf(err)
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// A lost is a refusal that says that the request did not run.
type lost struct{ err error }

func (l *lost) Error() string { return l.err.Error() }

func (l *lost) In(lang i18n.Lang) string { return lang.Of(l.err) }

func (l *lost) Unwrap() error { return l.err }

// refusal returns err as a *lost when it is one: our session is unknown there,
// or the request was turned away before it was processed.
func refusal(err error) error {
	var status *httpclient.StatusError
	var refresh *oauth.RefreshError
	if !errors.As(err, &status) {
		if httpclient.NotSent(err) || errors.As(err, &refresh) {
			return &lost{err}
		}
		return nil
	}
	switch {
	case status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable || status.Status == http.StatusMisdirectedRequest || forgotten(status):
		return &lost{err}
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

func isRefusal(err error) bool {
	var l *lost
	return errors.As(err, &l)
}

// unavailable is the error for a call that found no connection.
func (u *Upstream) unavailable(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if isAuth(err) {
		return u.authFailure(statusOf(err), err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return mcp.Failure(mcp.UpstreamUnavailable, u.name, fmt.Sprintf("server %q is not available: %v", u.name, err))
}

func statusOf(err error) int {
	var status *httpclient.StatusError
	if errors.As(err, &status) {
		return status.Status
	}
	if signIn := wantsSignIn(err); signIn != nil {
		return signIn.Status
	}
	return 0
}

// explainExit adds the server's own last words to a failed handshake.
func (u *Upstream) explainExit(l *link, err error) error {
	if l.child == nil {
		return err
	}
	if !l.alive() && l.err != nil {
		err = i18n.Errorf("the server ended during the handshake: %w", "服务在握手期间结束：%w", l.err)
	}
	if said := u.lastWords(l); said != "" {
		err = i18n.Errorf("%w; it said: %s", "%w；它的输出：%s", err, said)
	}
	return err
}

const (
	maxWords = 5   // lines that are told of an end
	maxWord  = 400 // bytes of each
	// minSecret is the length from which a value of the entry's environment is
	// hidden: shorter ones are words such as true.
	minSecret = 6
)

// lastWords are what the process behind a connection wrote before it ended, on
// one line, without the values of its environment.
func (u *Upstream) lastWords(l *link) string {
	lines := lastWords(l.child.Stderr().Lines(40))
	for i, line := range lines {
		for _, value := range u.Config().Env {
			if v := value.Reveal(); len(v) >= minSecret {
				line = strings.ReplaceAll(line, v, "***")
			}
		}
		lines[i] = strings.ToValidUTF8(line[:min(len(line), maxWord)], "")
	}
	return strings.Join(lines, " | ")
}

// lastWords are the lines that say most about an end: from the one that names
// an error on, else the last ones.
func lastWords(lines []string) []string {
	for i, line := range lines {
		if strings.Contains(strings.ToLower(line), "error") {
			return lines[i:min(i+maxWords, len(lines))]
		}
	}
	return lines[max(0, len(lines)-maxWords):]
}
