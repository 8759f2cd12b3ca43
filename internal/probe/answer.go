package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Question is a request of a server to its client.
type Question struct {
	// Method is the method of the question, such as elicitation/create.
	Method string
	Params json.RawMessage
	// Name is the tool of the call that caused the question, if known.
	Name string
}

// Kind returns elicitation, sampling, roots, or the method of any other
// question.
func (q *Question) Kind() string {
	switch q.Method {
	case mcp.MethodElicit:
		return "elicitation"
	case mcp.MethodSampling:
		return "sampling"
	case mcp.MethodRootsList:
		return "roots"
	}
	return q.Method
}

// An Answerer answers the questions of a server, in either era. It may be
// called concurrently.
type Answerer interface {
	// Answer returns the result of the question. A *jsonrpc.Error is sent to
	// the server; a *PendingError ends the call that caused the question.
	Answer(ctx context.Context, q *Question) (json.RawMessage, error)
}

// AnswerFunc is a function that implements Answerer.
type AnswerFunc func(ctx context.Context, q *Question) (json.RawMessage, error)

// Answer calls f.
func (f AnswerFunc) Answer(ctx context.Context, q *Question) (json.RawMessage, error) {
	return f(ctx, q)
}

// A PendingError means that a question remained unanswered.
type PendingError struct {
	Question Question
	// Misfit says why a prepared answer does not fit; nil if there is none.
	Misfit error
}

func (e *PendingError) Error() string { return e.In(i18n.English) }

// In returns the error in the given language.
func (e *PendingError) In(l i18n.Lang) string {
	message, _ := jsonrpc.GetString(e.Question.Params, "message")
	if message == "" {
		return i18n.New("the server asks for %s, but no one can answer it here", "服务器要求 %s，但此处无人能够回答", e.Question.Kind()).In(l)
	}
	return i18n.New("the server asks: %s", "服务器询问：%s", message).In(l)
}

// Pending fails every question with a PendingError.
var Pending Answerer = AnswerFunc(func(_ context.Context, q *Question) (json.RawMessage, error) {
	return nil, &PendingError{Question: *q}
})

// Decline declines every question.
var Decline Answerer = AnswerFunc(func(_ context.Context, q *Question) (json.RawMessage, error) {
	if q.Method == mcp.MethodElicit {
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	return nil, jsonrpc.Errorf(-1, "User rejected the %s request", q.Kind())
})

// Script answers questions from prepared values, looked up by the message of
// the question and then by kind ("elicitation", "sampling", "roots"). If all
// values are named like fields of a form, they are the answer to the form.
// Other questions go to Else.
type Script struct {
	Values map[string]json.RawMessage
	Else   Answerer
}

// Answer answers from the script.
func (s *Script) Answer(ctx context.Context, q *Question) (json.RawMessage, error) {
	message, _ := jsonrpc.GetString(q.Params, "message")
	for _, key := range []string{message, q.Kind()} {
		if value, ok := s.Values[key]; ok && key != "" {
			return Complete(q, value)
		}
	}
	if s.fits(q) {
		content := []byte(`{}`)
		for name, value := range s.Values {
			content = jsonrpc.Set(content, value, name)
		}
		return Complete(q, content)
	}
	if s.Else == nil {
		return nil, &PendingError{Question: *q, Misfit: s.misfit(q)}
	}
	answer, err := s.Else.Answer(ctx, q)
	if pending, ok := errors.AsType[*PendingError](err); ok {
		pending.Misfit = s.misfit(q)
	}
	return answer, err
}

// misfit says which field of the requested form is not among the values, or which
// value is no field; nil if there are no values or no form.
func (s *Script) misfit(q *Question) error {
	form := Form(jsonrpc.Get(q.Params, "requestedSchema"))
	if q.Method != mcp.MethodElicit || len(form) == 0 || len(s.Values) == 0 {
		return nil
	}
	names, missing := make([]string, len(form)), ""
	for i, f := range form {
		names[i] = f.Name
		if _, ok := s.Values[f.Name]; !ok && (missing == "" && (f.Required || i == len(form)-1)) {
			missing = f.Name
		}
	}
	list := strings.Join(names, ", ")
	if missing != "" {
		return i18n.Errorf("the answer has no %q; the form has: %s", "回答中没有 %q；表单包含：%s", missing, list)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		if !slices.Contains(names, name) {
			return i18n.Errorf("the form has no %q; it has: %s", "表单中没有 %q；它包含：%s", name, list)
		}
	}
	return nil
}

// fits reports whether all values are fields of the requested form.
func (s *Script) fits(q *Question) bool {
	fields := jsonrpc.Get(q.Params, "requestedSchema", "properties")
	if q.Method != mcp.MethodElicit || fields == nil || len(s.Values) == 0 {
		return false
	}
	for name := range s.Values {
		if jsonrpc.Get(fields, name) == nil {
			return false
		}
	}
	return true
}

// Complete builds the result of a question from user input: the content of a
// form, "decline" or "cancel"; the text of a message; or the whole result.
func Complete(q *Question, value json.RawMessage) (json.RawMessage, error) {
	var word string
	isText := json.Unmarshal(value, &word) == nil
	switch q.Method {
	case mcp.MethodElicit:
		switch {
		case isText && (word == "decline" || word == "cancel" || word == "accept"):
			return fmt.Appendf(nil, `{"action":%q}`, word), nil
		case jsonrpc.Get(value, "action") != nil && isAction(value):
			return value, nil
		case len(value) > 0 && value[0] == '{':
			return jsonrpc.Set([]byte(`{"action":"accept"}`), value, "content"), nil
		}
		return nil, i18n.Errorf("an answer to a form is an object, \"decline\" or \"cancel\", not %.60s", "表单的回答应为对象、\"decline\" 或 \"cancel\"，而不是 %.60s", value)
	case mcp.MethodSampling:
		if isText && (word == "decline" || word == "cancel") {
			return nil, jsonrpc.Errorf(-1, "User rejected the sampling request")
		}
		if isText {
			return fmt.Appendf(nil, `{"role":"assistant","content":{"type":"text","text":%s},"model":"tester","stopReason":"endTurn"}`,
				jsonrpc.Quote(word)), nil
		}
	}
	return value, nil
}

func isAction(value json.RawMessage) bool {
	action, _ := jsonrpc.GetString(value, "action")
	return strings.Contains(" accept decline cancel ", " "+action+" ") && action != ""
}
