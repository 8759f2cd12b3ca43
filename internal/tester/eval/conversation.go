package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// A conversation is one run: a client between the gateway and the model.
type conversation struct {
	runner  *Runner
	trial   *trial
	session *probe.Session
	run     *Run
	said    []any // the messages so far
	aliases aliases
}

// maxCalls limits the calls of one answer: no task needs more, and each call
// may reach a server.
const maxCalls = 128

// callLimit limits one tool call; a script has lower limits of its own.
const callLimit = 5 * time.Minute

// hold talks to the model until the run is decided. An error means that the
// model cannot be reached at all.
func (c *conversation) hold(ctx context.Context) error {
	tools, err := c.session.List(ctx, catalog.Tools)
	if err != nil {
		return err
	}
	c.begin()
	for range c.runner.Turns.Of(c.trial.eval.Turns) {
		answer, err := c.ask(ctx, functions(tools))
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			c.trial.decideOnce(false, i18n.Why(refused))
			return nil
		case err != nil:
			return err
		}
		if len(answer.ToolCalls) == 0 {
			c.finish(answer)
			return nil
		}
		if n := len(answer.ToolCalls); n > maxCalls {
			c.trial.decideOnce(false, i18n.New("one answer has %d tool calls; the limit is %d", "一次回答中有 %d 个工具调用；上限为 %d", n, maxCalls))
			return nil
		}
		c.said = append(c.said, answer.message())
		for i := range answer.ToolCalls {
			if err := c.call(ctx, &answer.ToolCalls[i]); err != nil {
				return err
			}
			if c.trial.isDecided() {
				return nil
			}
		}
	}
	c.trial.decideOnce(false, i18n.New("nothing was decided after %d turns", "%d 轮之后仍无结果", c.run.Turns))
	return nil
}

// begin adds the first messages of a client: its system prompt, the
// instructions of the servers, and the task.
func (c *conversation) begin() {
	system := c.runner.Suite.Model.System
	if text := c.session.Info().Instructions; text != "" {
		if system != "" {
			system += "\n\n"
		}
		system += text
	}
	if system != "" {
		c.said = append(c.said, message{"system", system})
	}
	c.said = append(c.said, message{"user", c.trial.eval.Task})
}

// finish decides a run that ended with text.
func (c *conversation) finish(answer *answer) {
	words := clip(answer.text())
	switch {
	case c.trial.eval.Expect.None:
		c.trial.decideOnce(true, i18n.Text{})
	case answer.reason == "length":
		c.trial.decideOnce(false, i18n.New("the answer was cut off before a tool was called", "回答在调用工具之前被截断"))
	case words == "":
		c.trial.decideOnce(false, i18n.New("answered nothing, expected %s", "没有回答，应调用 %s", c.trial.eval.Expect.String()))
	default:
		c.trial.decideOnce(false, i18n.New("answered without calling %s: %s", "未调用 %s 就回答：%s", c.trial.eval.Expect.String(), words))
	}
}

// ask sends the conversation to the model.
func (c *conversation) ask(ctx context.Context, tools []function) (*answer, error) {
	body := make(map[string]any)
	maps.Copy(body, c.runner.Suite.Model.Params)
	body["model"], body["messages"] = c.runner.Name, c.said
	if len(tools) > 0 {
		body["tools"] = tools
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	c.run.Turns++
	reply, err := c.runner.Model.Ask(ctx, &Question{Eval: c.run.Eval, Mode: c.run.Mode, Run: c.run.Number, Turn: c.run.Turns, Body: raw})
	if err != nil {
		return nil, err
	}
	c.run.Took += reply.Took
	a, err := readAnswer(reply.Body)
	if err != nil {
		return nil, err
	}
	c.run.In += a.usage.In
	c.run.Out += a.usage.Out
	return a, nil
}

// call runs a tool call of the model and adds the result to the conversation.
// Arguments that are not JSON decide the run, because no client can make such a
// call.
func (c *conversation) call(ctx context.Context, call *toolCall) error {
	arguments, ok := call.arguments()
	if !ok {
		c.trial.decideOnce(false, i18n.New("the arguments of %s are not a JSON object: %s", "%s 的参数不是 JSON 对象：%s", clip(call.Function.Name), clip(string(call.Function.Arguments))))
		return nil
	}
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(call.Function.Name), "name")
	params = jsonrpc.Set(params, c.aliases.reveal(arguments), "arguments")
	before := len(c.trial.called())
	x, err := c.session.Call(ctx, mcp.MethodToolsCall, params, probe.CallOptions{Limit: callLimit})
	if len(c.trial.called()) == before {
		c.run.Lookups++
	}
	if c.trial.isDecided() {
		return nil
	}
	if err != nil && !errors.Is(err, probe.ErrLimit) {
		return err
	}
	c.said = append(c.said, toolMessage{Role: "tool", ID: call.ID, Content: c.aliases.hide(outcome(x, err))})
	return nil
}

// outcome returns the text that a client gives its model as the result of a
// call.
func outcome(x *probe.Exchange, err error) string {
	switch {
	case err != nil:
		return "Error: " + err.Error()
	case x.Err != nil && len(x.Err.Data) > 0:
		return fmt.Sprintf("Error: %s %s", x.Err.Message, x.Err.Data)
	case x.Err != nil:
		return "Error: " + x.Err.Message
	}
	if text := probe.TextOf(x.Result); text != "" {
		return text
	}
	if value := probe.Structured(x.Result); value != nil {
		return string(value)
	}
	return "(no text)"
}
