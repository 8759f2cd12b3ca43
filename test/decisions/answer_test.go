package decisions

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/mcp"
)

// What an attempt may come to besides a mcp.Reason.
const (
	let            = ""                  // it ran
	notFound       = "not_found"         // there is no such thing, for who asks
	badArguments   = "invalid_arguments" // they do not fit the tool's schema
	headerMismatch = "header_mismatch"   // a header does not say what the body says
	shutOut        = "shut out"          // the console does not let the key do this
	unclear        = "unclear"           // neither: always a failure
)

// An answer is what an attempt came to.
type answer struct {
	reason string
	raw    string // all that the client was told
}

func (a answer) String() string {
	if a.reason == let {
		return fmt.Sprintf("it was let through: %.300s", a.raw)
	}
	return fmt.Sprintf("%s: %.300s", a.reason, a.raw)
}

// sentences tell a reason where an answer has only words: the result of a tool,
// the line of a command. Each is a part of one sentence of the gateway.
var sentences = []struct{ part, reason string }{
	{"the gateway is shutting down", string(mcp.Draining)},
	{"the gateway is short of memory", string(mcp.Overloaded)},
	{"call a minute", string(mcp.RateLimited)},
	{"2 times in a row", string(mcp.RepeatedCall)},
	{"needs a person's yes", string(mcp.PolicyDenied)},
	{"waits for approval", string(mcp.PolicyDenied)},
	{"not been approved", string(mcp.PolicyDenied)},
	{"not found", notFound},
	{"Missing required parameter", badArguments},
	{"configuration decides argument", badArguments},
	{"Argument validation failed", badArguments},
}

func reasonIn(text string) string {
	for _, s := range sentences {
		if strings.Contains(text, s.part) {
			return s.reason
		}
	}
	return unclear
}

// A wire is a JSON-RPC answer.
type wire struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  json.RawMessage
}

// judged is what a JSON-RPC answer says.
func judged(raw []byte) answer {
	var m wire
	if json.Unmarshal(raw, &m) != nil {
		return answer{unclear, string(raw)}
	}
	if m.Error != nil && string(m.Error) != "null" {
		return refusal(m.Error)
	}
	return outcome(m.Result)
}

// refusal is what an error object says.
func refusal(raw []byte) answer {
	var e struct {
		Code    json.RawMessage // a number on the wire, a word in the console's API
		Message string
		Data    struct{ Reason string }
	}
	if err := json.Unmarshal(raw, &e); err != nil && e.Message == "" {
		return answer{reasonIn(string(raw)), string(raw)}
	}
	switch {
	case e.Data.Reason != "" && !strings.Contains(e.Data.Reason, " "):
		return answer{e.Data.Reason, string(raw)}
	case string(e.Code) == fmt.Sprint(mcp.CodeHeaderMismatch):
		return answer{headerMismatch, string(raw)}
	case e.Message == "Invalid params":
		return answer{badArguments, string(raw)}
	}
	return answer{reasonIn(string(raw)), string(raw)}
}

// outcome is what a result says: it ran, or a tool error of ours with a reason
// in its envelope, or in words.
func outcome(raw []byte) answer {
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if json.Unmarshal(raw, &r) != nil || !r.IsError {
		return answer{let, string(raw)}
	}
	for _, block := range r.Content {
		var envelope struct{ Reason string }
		if json.Unmarshal([]byte(block.Text), &envelope) == nil && envelope.Reason != "" {
			return answer{envelope.Reason, string(raw)}
		}
		if reason := reasonIn(block.Text); reason != unclear {
			return answer{reason, string(raw)}
		}
	}
	return answer{unclear, string(raw)}
}
