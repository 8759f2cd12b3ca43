package decisions

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/mcp"
)

// Outcomes of an attempt besides mcp.Reason.
const (
	let            = ""                  // it ran
	notFound       = "not_found"         // it does not exist for the caller
	badArguments   = "invalid_arguments" // they do not fit the tool's schema
	headerMismatch = "header_mismatch"   // a header differs from the body
	shutOut        = "shut out"          // the console does not let the key do this
	unclear        = "unclear"           // none of these: always a failure
)

// An answer is the outcome of an attempt.
type answer struct {
	reason string
	raw    string // the whole response
}

func (a answer) String() string {
	if a.reason == let {
		return fmt.Sprintf("it was let through: %.300s", a.raw)
	}
	if a.reason == unclear {
		return fmt.Sprintf("unclear, it has none of the sentences in answer_test.go: %.300s", a.raw)
	}
	return fmt.Sprintf("%s: %.300s", a.reason, a.raw)
}

// sentences identify a reason in answers that contain only text: the result of
// a tool, the output of a command. Each is a part of a sentence of the gateway.
var sentences = []struct{ part, reason string }{
	{"the gateway is shutting down", string(mcp.Draining)},
	{"the gateway is short of memory", string(mcp.Overloaded)},
	{"call a minute", string(mcp.RateLimited)},
	{"2 times in a row", string(mcp.RepeatedCall)},
	{"needs a person's approval", string(mcp.PolicyDenied)},
	{"does not say that it is read-only", string(mcp.PolicyDenied)},
	{"waits for approval", string(mcp.PolicyDenied)},
	{"not been approved", string(mcp.PolicyDenied)},
	{"not found", notFound},
	{"no server has the skill", notFound},
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

// A wire is a JSON-RPC response.
type wire struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  json.RawMessage
}

// judged returns the outcome of a JSON-RPC response.
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

// refusal returns the outcome of an error object.
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

// outcome returns the outcome of a result: it ran, or it is a tool error of the
// gateway with a reason in its envelope or its text.
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
