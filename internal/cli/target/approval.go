package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/web/inbox"
)

// errUnapproved ends a call while a person is asked to approve it.
var errUnapproved = i18n.Errorf("no person approved the call", "无人批准该调用")

// An approval looks for the question to a person about one of our calls.
type approval struct {
	*Connection
	params json.RawMessage
	began  time.Time
}

// question returns the question while it waits in the running gateway; nil if
// there is none.
func (p *approval) question() *inbox.Question {
	var open []inbox.Question
	if p.running == nil || p.running.Get(p.Ctx, "/api/v1/inbox", &open) != nil {
		return nil // the call itself reports what is wrong with the gateway
	}
	arguments := jsonrpc.Canonical(jsonrpc.Get(p.params, "arguments"))
	i := slices.IndexFunc(open, func(q inbox.Question) bool {
		return q.Kind == "approval" && !q.Asked.Before(p.began) && bytes.Equal(jsonrpc.Canonical(q.Params), arguments)
	})
	if i < 0 {
		return nil
	}
	return &open[i]
}

// say prints to stderr that the call waits for a person, if it does.
func (p *approval) say() {
	if q := p.question(); q != nil {
		fmt.Fprintf(p.Env.Stderr, p.Env.T("waiting for approval of %s.%s; see: %s\n", "正在等待批准 %s.%s；查看：%s\n"), q.Server, q.Tool, p.Env.Again("inbox"))
	}
}

// silence returns the error for a call without an answer.
func (p *approval) silence() error {
	if p.question() != nil {
		return errUnapproved
	}
	return probe.ErrIdle
}
