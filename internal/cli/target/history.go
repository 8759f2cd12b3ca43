package target

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web"
)

// OpenHistory opens the history of the tester, which the console shares.
func OpenHistory() *history.History {
	return history.OpenHistory(filepath.Join(folders.StateDir(), "console", web.HistoryFile))
}

// remember records a request and its outcome. An error while writing the
// history is not fatal.
func (b *Connection) remember(method string, params json.RawMessage, began time.Time, x *probe.Exchange, err error) {
	if b.Flags.noHistory {
		return
	}
	k := history.KeptRun{Run: history.Run{
		ID: strings.ToLower(rand.Text()[:10]), Target: b.To.Label, From: b.To.From(), Method: method, Name: probe.SubjectOf(params),
		Params: b.Redact(params), Start: began, Total: time.Since(began), ReqSize: int64(len(params)),
	}}
	if k.From != nil {
		k.From.Protocol = b.Flags.Protocol
		k.Target = k.From.String()
	}
	k.Status = failureOf(err)
	k.Message, k.MessageZH = i18n.Why(err).Both()
	if err == nil {
		k.Answered(x, b.Redact)
	}
	if err := OpenHistory().Add(k); err != nil && b.Flags.verbose > 0 {
		fmt.Fprintln(b.Env.Stderr, b.Env.Lang.Of(err))
	}
}

func failureOf(err error) (status string) {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, probe.ErrCancelled), errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, probe.ErrIdle), errors.Is(err, errUnapproved), errors.Is(err, probe.ErrLimit):
		return "timeout"
	}
	return "failed"
}

// From returns the target in a form that can be used again; nil for the view of
// a client, which will have disconnected by then.
func (m *Target) From() *history.RunTarget {
	t := &history.RunTarget{Schema: m.schema}
	switch {
	case m.like != nil:
		return nil
	case m.Server != nil:
		t.Server = m.Server.Name
	case m.merged:
	case m.Probe.Command != "":
		t.Command = append([]string{m.Probe.Command}, m.Probe.Args...)
	default:
		t.URL = m.Probe.URL
	}
	return t.Redacted()
}
