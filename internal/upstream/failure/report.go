package failure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// A Reporter makes the errors that clients of one server get.
type Reporter struct {
	Name   string
	Config func() *config.Server
	Limits *config.Limits
	Hits   *config.Hits // counts the limits that were reached
	Log    *slog.Logger
}

// An Ending returns the last output of a process and the reason of its exit. A
// nil error means that the process is not known to have ended.
type Ending func() (said string, why error)

// Failure turns the error of a call into the one error that the client gets.
func (r *Reporter) Failure(ctx context.Context, err error, ending Ending) error {
	if err == nil {
		return nil
	}
	var wire *jsonrpc.Error
	var status *httpclient.StatusError
	var limit *sse.LimitError
	var value *ValueError
	switch {
	case errors.As(err, &value):
		return value
	case errors.As(err, &wire):
		return wire
	case errors.Is(err, ErrLong):
		return mcp.Failure(mcp.UpstreamTimeout, r.Name, fmt.Sprintf("the call to server %q did not finish within %v (limits.callTotal); whether it ran is unknown", r.Name, r.Limits.CallTotal))
	case errors.Is(err, ErrIdle):
		return mcp.Failure(mcp.UpstreamTimeout, r.Name, fmt.Sprintf("server %q sent neither an answer nor progress within its timeout; whether the call ran is unknown", r.Name))
	case errors.Is(err, jsonrpc.ErrTooLarge) || errors.As(err, &limit):
		r.Hits.Add("serverMessage")
		return mcp.Failure(mcp.ResponseTooLarge, r.Name, fmt.Sprintf("the answer of server %q is over the limit of %d bytes", r.Name, r.Limits.ServerMessage))
	case errors.Is(err, jsonrpc.ErrBadAnswer):
		return mcp.Failure(mcp.UpstreamProtocol, r.Name, fmt.Sprintf("the answer of server %q breaks the protocol: %v", r.Name, err))
	case IsRefusal(err):
		return r.refusedTwice(err)
	case wantsSignIn(err) != nil:
		return r.Auth(0, err)
	case errors.As(err, &status):
		return r.statusFailure(status)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	r.Log.Debug("call ended without an answer", "err", err)
	message := fmt.Sprintf("server %q closed the connection before it answered; whether the call ran is unknown", r.Name)
	if said, why := ending(); why != nil {
		message = fmt.Sprintf("server %q ended (%v) before it answered; whether the call ran is unknown", r.Name, why)
		if said != "" {
			message += "; its output: " + said
		}
	}
	return mcp.Failure(mcp.UpstreamClosed, r.Name, message)
}

// refusedTwice returns the error for a request that was refused, sent again and
// refused again. The request did not run.
func (r *Reporter) refusedTwice(err error) error {
	r.Log.Debug("call was refused twice", "err", err)
	switch status := StatusOf(err); status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return mcp.Failure(mcp.Overloaded, r.Name, fmt.Sprintf("server %q is overloaded (HTTP %d); the call did not run", r.Name, status))
	case 0:
		return mcp.Failure(mcp.UpstreamUnavailable, r.Name, fmt.Sprintf("server %q cannot be reached", r.Name))
	}
	return mcp.Failure(mcp.UpstreamUnavailable, r.Name, fmt.Sprintf("server %q no longer knows the session, nor the new one that was opened for the call; the call did not run", r.Name))
}

func (r *Reporter) statusFailure(s *httpclient.StatusError) error {
	switch s.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return r.Auth(s.Status, nil)
	}
	return mcp.Failure(mcp.UpstreamProtocol, r.Name, fmt.Sprintf("server %q answered HTTP %d", r.Name, s.Status))
}

// Auth returns the error for a server that refuses our credentials, or lacks
// them.
func (r *Reporter) Auth(status int, err error) error {
	cfg := r.Config()
	message := "Authentication failed"
	if signIn := wantsSignIn(err); signIn != nil {
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s: %v", message, signIn).
			WithData(map[string]any{"service": r.Name, "status": signIn.Status})
	}
	names := cfg.Missing
	if len(names) == 0 {
		names = slices.Concat(cfg.Vars, slices.Sorted(maps.Keys(cfg.PerUser)))
	}
	if len(names) > 0 {
		message += ": Invalid or missing " + strings.Join(names, ", ")
	}
	data := map[string]any{"service": r.Name}
	if status != 0 {
		data["status"] = status
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", message).WithData(data)
}

// Unavailable returns the error for a call that got no connection.
func (r *Reporter) Unavailable(ctx context.Context, err error) error {
	if value := new(ValueError); err == nil || errors.As(err, &value) {
		return err
	}
	if IsAuth(err) {
		return r.Auth(StatusOf(err), err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.Log.Debug("call got no connection", "err", err)
	return mcp.Failure(mcp.UpstreamUnavailable, r.Name, fmt.Sprintf("server %q is not available: %v", r.Name, err))
}

const (
	maxWords = 5   // how many lines of stderr are reported
	maxWord  = 400 // bytes of each
	// minSecret is the shortest value of the server's environment that is hidden.
	// Shorter values are words such as true.
	minSecret = 6
)

// LastWords returns, on one line, the lines of stderr that best explain why a
// process ended. Values of its environment are hidden.
func LastWords(lines []string, env map[string]config.Secret) string {
	lines = lastWords(lines)
	for i, line := range lines {
		for _, value := range env {
			if v := value.Reveal(); len(v) >= minSecret {
				line = strings.ReplaceAll(line, v, "***")
			}
		}
		lines[i] = strings.ToValidUTF8(line[:min(len(line), maxWord)], "")
	}
	return strings.Join(lines, " | ")
}

// lastWords returns the lines that best explain an exit: the first line that
// contains "error" and those after it, otherwise the last lines.
func lastWords(lines []string) []string {
	for i, line := range lines {
		if strings.Contains(strings.ToLower(line), "error") {
			return lines[i:min(i+maxWords, len(lines))]
		}
	}
	return lines[max(0, len(lines)-maxWords):]
}
