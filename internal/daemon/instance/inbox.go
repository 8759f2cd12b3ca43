package instance

import (
	"context"
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/inbox"
)

// person asks the person at the console a question of a server if no client can
// be asked. It returns nil if the console is not open.
func (in *Instance) person(ctx context.Context, server string, req *jsonrpc.Request) *jsonrpc.Response {
	if !in.Traffic.Attached() || req.Method != mcp.MethodElicit && req.Method != mcp.MethodSampling {
		return nil
	}
	kind := "elicitation"
	if req.Method == mcp.MethodSampling {
		kind = "sampling"
	}
	answer, err := in.Inbox.Ask(ctx, inbox.Question{Kind: kind, Server: server, Params: json.RawMessage(req.Params)})
	if err != nil {
		return nil
	}
	if kind == "sampling" {
		if answer.Action != "accept" || len(answer.Content) == 0 {
			return &jsonrpc.Response{Err: jsonrpc.Errorf(-1, "User rejected sampling request")}
		}
		return &jsonrpc.Response{Result: answer.Content}
	}
	result := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(answer.Action), "action")
	if answer.Action == "accept" && len(answer.Content) > 0 {
		result = jsonrpc.Set(result, answer.Content, "content")
	}
	return &jsonrpc.Response{Result: result}
}

// approvalWait is how long a call waits for approval.
const approvalWait = 2 * time.Minute

// approve asks a person to approve a call, in the console or with the command
// inbox. The person must not be the principal that makes the call. It asks no
// one if no principal could approve.
func (in *Instance) approve(ctx context.Context, a gateway.Approval) traffic.Yes {
	if in.URL == "" || !in.Access().DecidesFor(a.Who.ID) {
		return traffic.Yes{} // on stdio there is no console
	}
	ctx, cancel := context.WithTimeout(ctx, approvalWait)
	defer cancel()
	arguments := a.Arguments
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	answer, err := in.Inbox.Ask(ctx, inbox.Question{Kind: "approval", Schema: a.Schema, Server: a.Server, Tool: a.Tool, Client: a.Client, Session: a.Session, From: a.Who.ID, Owner: a.Who.Owner(), Params: arguments, Code: a.Code})
	if err != nil || answer.Action != "accept" {
		return traffic.Yes{}
	}
	yes := traffic.Yes{By: answer.By, Door: traffic.DoorConsole, For: answer.For}
	if answer.Typed {
		yes.Door = traffic.DoorCLI
	}
	return yes
}

// hostRefused returns a function that reports a host that a sandbox refused to
// AskHost.
func hostRefused(in *Instance) func(server, host string) {
	return func(server, host string) {
		if ask := in.AskHost.Load(); ask != nil {
			(*ask)(server, host)
		}
	}
}
