package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// DemoTools returns the tools of Demo.
func DemoTools() []Tool {
	return []Tool{
		EchoTool(),
		TimeTool(),
		{`{"name":"add","description":"Add two numbers","inputSchema":{"type":"object","properties":` +
			`{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},"outputSchema":{"type":"object","properties":` +
			`{"sum":{"type":"number"}},"required":["sum"]},"annotations":{"readOnlyHint":true}}`, add},
		{`{"name":"long_task","description":"Work for a while, with progress; can be cancelled","inputSchema":{"type":"object","properties":` +
			`{"seconds":{"type":"number","default":3},"steps":{"type":"integer","default":3}}}}`, longTask},
		{`{"name":"ask_name","description":"Ask the user for a name, then greet","inputSchema":{"type":"object"}}`, askName},
		{`{"name":"ask_model","description":"Put a question to the client's model","inputSchema":{"type":"object","properties":` +
			`{"prompt":{"type":"string"}},"required":["prompt"]}}`, askModel},
		{`{"name":"show_roots","description":"Show the roots that the client offers","inputSchema":{"type":"object"}}`, showRoots},
		{`{"name":"get_image","description":"Get a small picture","inputSchema":{"type":"object"}}`, block("image", "image/png", pixelPNG)},
		{`{"name":"get_audio","description":"Get a short sound","inputSchema":{"type":"object"}}`, block("audio", "audio/wav", pingWAV)},
		{`{"name":"log_something","description":"Send a log message","inputSchema":{"type":"object","properties":` +
			`{"level":{"type":"string","default":"info"},"message":{"type":"string"}}}}`, logSomething},
		{`{"name":"fail","description":"Fail, as a tool does","inputSchema":{"type":"object"}}`,
			func(context.Context, *Call) (any, error) { return Failure("this tool always fails"), nil }},
	}
}

// EchoTool returns a tool that answers with its message.
func EchoTool() Tool {
	return Tool{`{"name":"echo","description":"Say a message back","inputSchema":{"type":"object","properties":` +
		`{"message":{"type":"string","description":"What to say"}},"required":["message"]}}`,
		func(_ context.Context, c *Call) (any, error) {
			var args struct{ Message string }
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			return Text("%s", args.Message), nil
		}}
}

// TimeTool returns a tool that answers with the time in a time zone.
func TimeTool() Tool {
	return Tool{`{"name":"get_current_time","description":"Get the current time in a specified timezone","inputSchema":{"type":"object","properties":` +
		`{"timezone":{"type":"string","description":"IANA timezone identifier (e.g., 'Asia/Shanghai')"}}}}`, currentTime}
}

func missing(argument string) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Missing required argument: %s", argument)
}

func currentTime(_ context.Context, c *Call) (any, error) {
	var args struct{ Timezone string }
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(args.Timezone)
	if err != nil {
		return Failure("unknown timezone %q", args.Timezone), nil
	}
	return Text("%s", time.Now().In(zone).Format("2006-01-02T15:04:05.000-07:00")), nil
}

func add(_ context.Context, c *Call) (any, error) {
	var args struct{ A, B float64 }
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	sum := args.A + args.B
	return map[string]any{
		"content":           []any{textBlock(fmt.Sprintf(`{"sum":%v}`, sum))},
		"structuredContent": map[string]any{"sum": sum},
	}, nil
}

func longTask(ctx context.Context, c *Call) (any, error) {
	args := struct {
		Seconds float64
		Steps   int
	}{3, 3}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	args.Steps = max(args.Steps, 1)
	step := time.Duration(args.Seconds / float64(args.Steps) * float64(time.Second))
	for i := range args.Steps {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(step):
		}
		c.Progress(ctx, float64(i+1), float64(args.Steps), fmt.Sprintf("step %d of %d", i+1, args.Steps))
	}
	return Text("done after %d steps", args.Steps), nil
}

func askName(ctx context.Context, c *Call) (any, error) {
	answer, err := c.Ask(ctx, "user_name", mcp.MethodElicit, nameQuestion)
	if err != nil {
		return unanswered(err)
	}
	name, action := elicitedName(answer)
	if action != "accept" {
		return Text("No name: %s.", action), nil
	}
	return Text("Hello, %s!", name), nil
}

func askModel(ctx context.Context, c *Call) (any, error) {
	var args struct{ Prompt string }
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	answer, err := c.Ask(ctx, "answer", mcp.MethodSampling, modelQuestion(args.Prompt))
	if err != nil {
		return unanswered(err)
	}
	text, model := sampledText(answer)
	return Text("%s says: %s", model, text), nil
}

func showRoots(ctx context.Context, c *Call) (any, error) {
	answer, err := c.Ask(ctx, "roots", mcp.MethodRootsList, nil)
	if err != nil {
		return unanswered(err)
	}
	var list struct{ Roots []struct{ URI, Name string } }
	if err := json.Unmarshal(answer, &list); err != nil {
		return Failure("reading the roots: %v", err), nil
	}
	text := fmt.Sprintf("%d roots", len(list.Roots))
	for _, root := range list.Roots {
		text += "\n" + root.URI
	}
	return Text("%s", text), nil
}

// unanswered turns a legacy client's refusal into a tool result. It returns
// errors that the modern era must see on the wire unchanged.
func unanswered(err error) (any, error) {
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Code != mcp.CodeCapabilityMissing {
		return Failure("no answer: %s", wire.Message), nil
	}
	return nil, err
}

func block(kind, mimeType, data string) func(context.Context, *Call) (any, error) {
	return func(context.Context, *Call) (any, error) {
		return map[string]any{"content": []any{map[string]any{"type": kind, "mimeType": mimeType, "data": data}}}, nil
	}
}

func logSomething(ctx context.Context, c *Call) (any, error) {
	args := struct{ Level, Message string }{"info", "something happened"}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	c.Log(ctx, args.Level, "demo", args.Message)
	return Text("logged at level %s", args.Level), nil
}
