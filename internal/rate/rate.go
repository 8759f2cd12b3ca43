// Package rate limits how often a principal calls.
//
// It counts the calls of each principal: in total, per server and per tool. It
// also detects a call that is repeated with the same answer. The counts survive a
// reload of the configuration. The package does not know what a call is about, or
// whether it may run for other reasons.
package rate

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Rates holds the counts of all principals. The zero value is ready to use.
type Rates struct {
	calls counter
	same  repeats
}

// A Call is a call to count.
type Call struct {
	Who    *access.Principal
	Schema string
	Server *config.Server
	// Tool is empty if the call is not a tool call.
	Tool      string
	Arguments []byte
}

// Admit counts a call. If it exceeds a rate, Admit returns an error that says
// which rate and when to retry.
func (r *Rates) Admit(limits *config.Limits, c Call) error {
	own := limits.CallsPerMinute
	if c.Who.Calls > 0 {
		own = c.Who.Calls
	}
	var room [3]bound
	bounds := room[:0]
	add := func(perMinute int, schema, server, tool string) {
		if perMinute > 0 {
			bounds = append(bounds, bound{key{c.Who.ID, schema, server, tool}, perMinute})
		}
	}
	add(own, "", "", "")
	add(c.Server.CallsPerMinute, c.Schema, c.Server.Name, "")
	if c.Tool != "" && len(c.Server.Tools) > 0 {
		add(c.Server.Tools[c.Tool].CallsPerMinute, c.Schema, c.Server.Name, c.Tool)
	}
	full, wait := r.calls.take(bounds)
	if wait == 0 {
		return nil
	}
	return later(mcp.RateLimited, c.Server.Name, wait, fmt.Sprintf("%s: nothing was sent; call again in %d s", full.says(), seconds(wait)))
}

func (b bound) says() string {
	of := plural(b.perMinute)
	switch {
	case b.tool != "":
		return fmt.Sprintf("tool %q of server %q takes %s a minute from one client (callsPerMinute of the tool)", b.tool, b.server, of)
	case b.server != "":
		return fmt.Sprintf("server %q takes %s a minute from one client (callsPerMinute of the server)", b.server, of)
	}
	return fmt.Sprintf("this client may make %s a minute (limits.callsPerMinute, or calls:N of its key)", of)
}

func plural(n int) string {
	if n == 1 {
		return "1 call"
	}
	return strconv.Itoa(n) + " calls"
}

// Progress refuses a call that got the same answer limits.SameCall times in a
// row, with no other call in between. A limit of zero refuses none.
func (r *Rates) Progress(limits *config.Limits, c Call) error {
	if limits.SameCall == 0 {
		return nil
	}
	n, wait := r.same.length(c.Who.ID, sumOf(c.Schema, c.Server.Name, c.Tool, c.Arguments))
	if n < limits.SameCall {
		return nil
	}
	return later(mcp.RepeatedCall, c.Server.Name, wait, fmt.Sprintf(
		"you called tool %q of server %q with the same arguments %d times in a row, and the answer was the same each time: it was not called again. "+
			"Use the answer that you have, change the arguments, or do something else first; the same call is allowed again in %d s (limits.sameCall)",
		c.Tool, c.Server.Name, n, seconds(wait)))
}

// Answered records the answer to a tool call.
func (r *Rates) Answered(limits *config.Limits, c Call, resp *jsonrpc.Response) {
	if limits.SameCall == 0 {
		return
	}
	if answer, ok := answerOf(resp); ok {
		r.same.note(c.Who.ID, sumOf(c.Schema, c.Server.Name, c.Tool, c.Arguments), answer)
	}
}

// later returns a refusal that says in how many seconds to retry.
func later(reason mcp.Reason, server string, wait time.Duration, message string) error {
	e := mcp.Failure(reason, server, message)
	e.Data = jsonrpc.Set(e.Data, strconv.AppendInt(nil, seconds(wait), 10), "retryAfterSeconds")
	return e
}

// seconds rounds up, so that a retry after that time is admitted.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
