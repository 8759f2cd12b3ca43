package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/doctor"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/probe"
)

// Failed adds the exit code and a hint to an error of the tester.
func Failed(a *env.Env, err error, m *Target) error {
	if err == nil || errors.As(err, new(*env.ExitError)) {
		return err
	}
	e := &env.ExitError{Code: env.ExitFailure, Err: err}
	e.Details = append(e.Details, env.Detail{Label: a.T("target", "目标"), Text: m.Label})
	var (
		pending *probe.PendingError
		start   *probe.StartError
		status  *httpclient.StatusError
		wire    *jsonrpc.Error
		network *net.OpError
		signIn  *oauth.SignInError
	)
	switch {
	case errors.As(err, &pending):
		printPending(a, pending)
		return env.Silent(env.ExitPending)
	case errors.Is(err, probe.ErrCancelled), errors.Is(err, context.Canceled):
		e.Code, e.ID = env.ExitInterrupted, env.CodeInterrupted
		e.Err = errors.New(a.T("cancelled", "已取消"))
	case errors.As(err, &signIn) && m.Server != nil:
		return m.needsSignIn(a)
	case errors.Is(err, probe.ErrIdle), errors.Is(err, errUnapproved):
		e.Code, e.ID, e.Hint = env.ExitTimeout, env.CodeTimeout, a.T("--timeout TIME allows a longer silence", "--timeout TIME 可延长静默时间")
	case errors.Is(err, probe.ErrLimit):
		e.Code, e.ID, e.Hint = env.ExitTimeout, env.CodeTimeout, a.T("--max-time TIME allows more", "--max-time TIME 可延长总时限")
	case errors.As(err, &status) && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
		e.Code, e.ID = env.ExitAuth, env.CodeAuth
		e.Hint = cmp.Or(m.fixKey(a), "--header 'Authorization: Bearer TOKEN'")
		if challenge := status.Header.Get("Www-Authenticate"); challenge != "" {
			e.Details = append(e.Details, env.Detail{Label: a.T("wants", "要求"), Text: challenge})
		}
	case errors.As(err, &start):
		e.Code, e.ID, e.Err = env.ExitUnreachable, env.CodeUnreachable, start.Err
		e.Hint = otherURL(a, m, status)
		if m.Probe.URL != "" && status == nil {
			e.Hint = doctor.FixNetwork(a, err)
		}
		switch {
		case start.Noise != "":
			e.Hint = doctor.FixNoise(a, start.Noise)
		case errors.Is(err, probe.ErrHandshake):
			e.Hint = a.T("check that it is an MCP server; the handshake may take as long as --timeout, at most 30s", "请确认它是 MCP 服务器；握手的时限为 --timeout，最长 30 秒")
		}
		if path := doctor.Searched(err); path != "" {
			e.Details = append(e.Details, env.Detail{Label: "PATH", Text: path})
		}
		if len(start.Stderr) > 0 {
			e.Details = append(e.Details, env.Detail{Label: a.T("output", "输出"), Text: strings.Join(start.Stderr, "\n")})
		}
	case errors.As(err, &wire):
		e.Code = wireExit(wire)
	case errors.As(err, &network), errors.Is(err, jsonrpc.ErrClosed), errors.As(err, &status):
		e.Code, e.ID = env.ExitUnreachable, env.CodeUnreachable
	}
	return e
}

// otherURL returns the advice to try the URL that was probably meant.
func otherURL(a *env.Env, m *Target, status *httpclient.StatusError) string {
	likely := httpclient.LikelyURL(m.Probe.URL)
	if likely == "" || status == nil || status.Status != http.StatusNotFound && status.Status != http.StatusMethodNotAllowed {
		return ""
	}
	return a.T("most servers are at /mcp; try ", "多数服务器位于 /mcp；请尝试 ") + likely
}

// reasonsZH are Chinese prefixes for errors of the gateway itself. Their
// messages are in English, like everything that clients get.
var reasonsZH = map[mcp.Reason]string{
	mcp.UpstreamUnavailable: "服务器不可用", mcp.UpstreamClosed: "服务器中断了连接", mcp.UpstreamTimeout: "服务器超时",
	mcp.UpstreamProtocol: "服务器的应答不符合协议", mcp.ResponseTooLarge: "应答过大", mcp.Overloaded: "网关或服务器过载",
	mcp.Draining: "网关正在关闭", mcp.Cancelled: "已取消", mcp.PolicyDenied: "策略不允许",
	mcp.ValueMissing: "缺少需由你设置的值", mcp.RateLimited: "调用过于频繁", mcp.RepeatedCall: "重复的调用",
	mcp.OwnerLost: "运行此调用的副本已失联",
}

// wireExit returns the exit code for an error response from a server, or from a
// gateway in front of it.
func wireExit(e *jsonrpc.Error) int {
	var data struct {
		Reason mcp.Reason
		Status int
	}
	// Data of another shape is ignored.
	_ = json.Unmarshal(e.Data, &data)
	switch {
	case data.Reason == mcp.PolicyDenied:
		return env.ExitDenied
	case data.Reason == mcp.UpstreamTimeout || data.Reason == mcp.Cancelled:
		return env.ExitTimeout
	case data.Reason == mcp.UpstreamUnavailable || data.Reason == mcp.UpstreamClosed:
		return env.ExitUnreachable
	case data.Reason == mcp.ValueMissing || data.Status == http.StatusUnauthorized || data.Status == http.StatusForbidden:
		return env.ExitAuth
	}
	return env.ExitTool
}

// Answered converts an error response from the server to an error of the
// command.
func Answered(a *env.Env, x *probe.Exchange, m *Target) error {
	if x.Err == nil {
		return nil
	}
	who := i18n.Pair("", cmp.Or(reasonsZH[mcp.ReasonOf(x.Err)], "服务器返回错误")+"：")
	e := &env.ExitError{Code: wireExit(x.Err), ID: env.CodeTool, Err: i18n.Errorf("%v%s (%d)", "%v%s（%d）", who, x.Err.Message, x.Err.Code)}
	if e.Code == env.ExitUnreachable {
		e.ID = env.CodeUnreachable
	}
	e.Details = append(e.Details, env.Detail{Label: a.T("target", "目标"), Text: m.Label}, env.Detail{Label: a.T("method", "方法"), Text: x.Method})
	if len(x.Err.Data) > 0 {
		e.Details = append(e.Details, env.Detail{Label: a.T("data", "数据"), Text: string(x.Err.Data)})
	}
	return e
}

// printPending prints the open question as JSON, for a script to answer.
func printPending(a *env.Env, p *probe.PendingError) {
	q := p.Question
	pending := map[string]any{"kind": q.Kind(), "params": q.Params}
	if q.Name != "" {
		pending["tool"] = q.Name
	}
	if message, ok := jsonrpc.GetString(q.Params, "message"); ok {
		pending["message"] = message
	}
	if schema := jsonrpc.Get(q.Params, "requestedSchema"); schema != nil {
		pending["schema"] = json.RawMessage(schema)
	}
	env.WriteLine(a.Stdout, map[string]any{"pending": pending})
	if p.Misfit != nil {
		fmt.Fprintln(a.Stderr, a.Lang.Of(p.Misfit))
	}
	fmt.Fprintf(a.Stderr, "%s --answer '%s'%s\n", a.T("the server asks a question; answer it with", "服务器提出了问题；请用"), exampleAnswer(&q),
		a.T(", or run this on a terminal", " 回答，或在终端中运行"))
}

// exampleAnswer returns an example of an answer to a question.
func exampleAnswer(q *probe.Question) string {
	fields := probe.Form(jsonrpc.Get(q.Params, "requestedSchema"))
	if len(fields) == 0 {
		return fmt.Sprintf(`{"%s": …}`, q.Kind())
	}
	var names []string
	for _, f := range fields {
		names = append(names, fmt.Sprintf(`"%s": …`, f.Name))
	}
	return fmt.Sprintf(`{"%s": {%s}}`, q.Kind(), strings.Join(names, ", "))
}
