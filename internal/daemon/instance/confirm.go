package instance

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/sharing"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/inbox"
)

// codeForm asks for the code on the page of the client.
var codeForm = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]}`)

var errNoCode = i18n.Errorf("code is missing: it is the code on the page of the client", "缺少 code：即客户端页面上的验证码")

var errCode = i18n.Errorf("this is not the code on the page of the client, which is refused now: connect it again to get another code", "这不是客户端页面上的验证码，该客户端已被拒绝：请重新连接以获取新的验证码")

// Confirm asks a person whether a client gets access. The person enters the code
// that the browser of the client shows.
func Confirm(ctx context.Context, in *Instance, r sharing.Request) bool {
	params, err := json.Marshal(map[string]any{"name": r.Name, "id": r.ID, "schema": r.Schema, "write": r.Write, "days": r.Days, "requestedSchema": codeForm})
	if err != nil {
		return false
	}
	code := func(a inbox.Answer) string {
		code, _ := jsonrpc.GetString(a.Content, "code") // what cannot be read is not the code
		return strings.ReplaceAll(code, " ", "")
	}
	check := func(a inbox.Answer) error {
		if a.Action == "accept" && code(a) == "" {
			return errNoCode
		}
		return nil
	}
	right := false
	answer, err := in.Inbox.Ask(ctx, inbox.Question{Kind: "share", Schema: r.Schema, Server: r.Host, Params: params, Check: check, Apply: func(a inbox.Answer) error {
		if right = code(a) == r.Code; a.Action == "accept" && !right {
			return errCode
		}
		return nil
	}})
	if err != nil {
		return false
	}
	o := traffic.Observation{Call: traffic.Call{Hop: traffic.HopClient, Start: time.Now(), Principal: answer.By, Schema: r.Schema, Method: "share/confirm", Name: r.Host, Status: answer.Action, Door: traffic.DoorConsole}}
	if answer.Typed {
		o.Door = traffic.DoorCLI
	}
	if answer.Action == "accept" && !right {
		o.Status = "decline"
	}
	if in.Audit != nil {
		in.Audit.Observe(&o)
	}
	return answer.Action == "accept" && right
}
