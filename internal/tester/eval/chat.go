package eval

import (
	"bytes"
	"encoding/json"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// A message is one message of a conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A toolMessage is the answer of a tool.
type toolMessage struct {
	Role    string `json:"role"`
	ID      string `json:"tool_call_id"`
	Content string `json:"content"`
}

// A function is a tool in the format of a chat completions API.
type function struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// functions returns the tools of a list as functions of the model.
func functions(l *probe.Listing) []function {
	list := make([]function, len(l.Items))
	for i := range l.Items {
		it := &l.Items[i]
		list[i] = function{"function", definition{it.Key, it.Description, json.RawMessage(jsonrpc.AsObject(it.InputSchema))}}
	}
	return list
}

// A toolCall is a function call of the model.
type toolCall struct {
	ID       string
	Function struct {
		Name      string
		Arguments json.RawMessage
	}
	raw json.RawMessage // as received: some APIs require the members that they added
}

// arguments returns the arguments of a call: a string that contains JSON or,
// from some APIs, the JSON itself.
func (c *toolCall) arguments() (json.RawMessage, bool) {
	raw := c.Function.Arguments
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(strings.TrimSpace(text))
	}
	if len(raw) == 0 {
		return json.RawMessage(`{}`), true
	}
	return raw, raw[0] == '{' && jsonrpc.Valid(raw)
}

// An answer is the answer of the model.
type answer struct {
	Content   json.RawMessage
	ToolCalls []toolCall
	reason    string
	usage     struct{ In, Out int }
}

// readAnswer parses a chat completion.
func readAnswer(raw []byte) (*answer, error) {
	var body struct {
		Choices []struct {
			Message struct {
				Content   json.RawMessage   `json:"content"`
				ToolCalls []json.RawMessage `json:"tool_calls"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			In  int `json:"prompt_tokens"`
			Out int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(raw, &body); err != nil || len(body.Choices) == 0 {
		return nil, &StopError{Kind: Malformed, text: i18n.New("the answer is not a chat completion: %s", "应答不是 chat completion：%s", clip(string(raw)))}
	}
	choice := &body.Choices[0]
	a := &answer{Content: choice.Message.Content, reason: choice.FinishReason}
	a.usage.In, a.usage.Out = body.Usage.In, body.Usage.Out
	for _, one := range choice.Message.ToolCalls {
		call := toolCall{raw: one}
		if err := json.Unmarshal(one, &call); err != nil || call.Function.Name == "" {
			return nil, &RefusedError{i18n.New("a tool call has no name: %s", "工具调用没有名称：%s", clip(string(one)))}
		}
		a.ToolCalls = append(a.ToolCalls, call)
	}
	return a, nil
}

// message returns the answer as the next request repeats it.
func (a *answer) message() any {
	calls := make([]json.RawMessage, len(a.ToolCalls))
	for i := range a.ToolCalls {
		calls[i] = a.ToolCalls[i].raw
	}
	content := a.Content
	if len(content) == 0 {
		content = json.RawMessage("null")
	}
	return struct {
		Role    string            `json:"role"`
		Content json.RawMessage   `json:"content"`
		Calls   []json.RawMessage `json:"tool_calls"`
	}{"assistant", content, calls}
}

// text returns the text that the model wrote.
func (a *answer) text() string {
	var text string
	if json.Unmarshal(a.Content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(a.Content, &parts) != nil {
		return string(bytes.TrimSpace(a.Content))
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}
