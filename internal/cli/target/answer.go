package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// A terminalAnswerer asks the user at the terminal the server's questions, one
// at a time.
type terminalAnswerer struct {
	env *env.Env
	mu  sync.Mutex
}

// Answer asks the question on the terminal.
func (t *terminalAnswerer) Answer(ctx context.Context, q *probe.Question) (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch q.Method {
	case mcp.MethodElicit:
		return t.elicit(ctx, q)
	case mcp.MethodSampling:
		return t.sample(ctx, q)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", q.Method)
}

func (t *terminalAnswerer) elicit(ctx context.Context, q *probe.Question) (json.RawMessage, error) {
	a := t.env
	message, _ := jsonrpc.GetString(q.Params, "message")
	fmt.Fprintf(a.Stderr, "\n%s%s\n", a.Paint(env.Yellow, a.T("The server asks: ", "服务器询问：")), message)
	if url, ok := jsonrpc.GetString(q.Params, "url"); ok {
		fmt.Fprintf(a.Stderr, "  %s\n", url)
		word, err := a.Ask(ctx, a.T("open it yourself, then: accept, decline or cancel", "请自行打开，然后输入 accept、decline 或 cancel"))
		if err != nil {
			return nil, pendingAtEnd(err, q)
		}
		return probe.Complete(q, jsonrpc.Quote(word))
	}
	schema := jsonrpc.Get(q.Params, "requestedSchema")
	form := probe.Form(schema)
	fmt.Fprintf(a.Stderr, "  %s\n", a.Paint(env.Dim, a.T("an empty line takes the default; !decline and !cancel say no", "空行使用默认值；!decline 或 !cancel 拒绝")))
	var words []string
	for _, field := range form {
		word, err := AskField(ctx, a, field)
		if err != nil {
			return nil, pendingAtEnd(err, q)
		}
		switch {
		case word == "!decline" || word == "!cancel":
			return probe.Complete(q, jsonrpc.Quote(word[1:]))
		case word != "":
			words = append(words, strings.NewReplacer(`\`, `\\`, ".", `\.`, "[", `\[`).Replace(field.Name)+"="+word)
		}
	}
	content, err := (&probe.ArgumentParser{Schema: schema}).Parse(nil, words)
	if err != nil {
		fmt.Fprintf(a.Stderr, "  %s\n", a.Lang.Of(err))
		return t.elicit(ctx, q)
	}
	return probe.Complete(q, content)
}

// sample shows the whole request for a model, and takes the answer from the
// user.
func (t *terminalAnswerer) sample(ctx context.Context, q *probe.Question) (json.RawMessage, error) {
	a := t.env
	fmt.Fprintf(a.Stderr, "\n%s\n", a.Paint(env.Yellow, a.T("The server asks for a model's answer:", "服务器请求模型回答：")))
	if system, ok := jsonrpc.GetString(q.Params, "systemPrompt"); ok {
		fmt.Fprintf(a.Stderr, "  %s%s\n", a.T("system: ", "系统提示："), system)
	}
	for _, b := range probe.Blocks(q.Params) {
		fmt.Fprintf(a.Stderr, "  %s: %s\n", b.Role, blockText(b))
	}
	for _, limit := range []string{"maxTokens", "temperature", "stopSequences", "modelPreferences"} {
		if raw := jsonrpc.Get(q.Params, limit); raw != nil {
			fmt.Fprintf(a.Stderr, "  %s: %s\n", limit, raw)
		}
	}
	word, err := a.Ask(ctx, a.T("answer (!decline says no)", "回答（!decline 拒绝）"))
	if err != nil {
		return nil, pendingAtEnd(err, q)
	}
	return probe.Complete(q, jsonrpc.Quote(strings.Replace(word, "!decline", "decline", 1)))
}

func blockText(b probe.Block) string {
	if b.Text != "" {
		return b.Text
	}
	return fmt.Sprintf("[%s %s, %d bytes]", b.Type, b.MIMEType, len(b.Data))
}

// pendingAtEnd turns the end of the input into a PendingError, which leaves the
// question open.
func pendingAtEnd(err error, q *probe.Question) error {
	if errors.Is(err, io.EOF) {
		return &probe.PendingError{Question: *q}
	}
	return err
}

// AskField asks for one field of a form.
func AskField(ctx context.Context, a *env.Env, f probe.Field) (string, error) {
	label := f.Name
	if f.Title != "" && f.Title != f.Name {
		label += " (" + f.Title + ")"
	}
	if f.Type != "" {
		label += " " + f.Type
	}
	if len(f.Choices) > 0 {
		label += " [" + strings.Join(f.Choices, " | ") + "]"
	}
	if f.Default != "" {
		label += " = " + f.Default
	}
	if f.Description != "" {
		fmt.Fprintf(a.Stderr, "  %s\n", a.Paint(env.Dim, f.Description))
	}
	for {
		word, err := a.Ask(ctx, label)
		if err != nil || word != "" || !f.Required || f.Default != "" {
			word = cmp.Or(word, f.Default)
			return word, err
		}
		fmt.Fprintf(a.Stderr, "  %s\n", a.T("this one is required", "此项必填"))
	}
}
