package layout

import (
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// ServerNames maps the key names of other programs to ours.
var ServerNames = map[string]string{
	"serverUrl": "url", "httpUrl": "url", "endpoint": "url",
	"customHeaders": "headers", "http_headers": "headers", "requestHeaders": "headers",
	"environment": "env", "envs": "env",
	"cmd": "command", "transport": "type", "transportType": "type",
	"workingDirectory": "cwd",
	"retryDelay":       "restartDelay", "reconnectInterval": "restartDelay", "maxRetries": "retries",
	"includeTools": "allow", "enabled_tools": "allow",
	"excludeTools": "deny", "disabledTools": "deny", "disabled_tools": "deny",
}

// serverIdle are keys of other programs that have no effect in a gateway.
var serverIdle = map[string]i18n.Text{
	"autoApprove": i18n.New("the client asks, not the gateway", "由客户端询问，而不是网关"), "alwaysAllow": i18n.New("the client asks, not the gateway", "由客户端询问，而不是网关"),
	"trust": i18n.New("the client asks, not the gateway", "由客户端询问，而不是网关"), "envFile": i18n.New("write the variables into env", "请把变量写入 env"),
	"description": {}, "gallery": {}, "version": {}, "iconPath": {}, "source": {}, "name": {}, "$schema": {},
}

// typeNames maps the transport names of other programs to ours.
var typeNames = map[string]string{
	"local": "stdio", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http",
	"streamable http": "http", "streamablehttp": "http", "remote": "auto",
}

// TopNames maps MCPX's top-level keys to ours.
var TopNames = map[string]string{"schema_compression_enabled": "types"}

// topIdle are top-level keys of other programs that have no effect here.
var topIdle = map[string]i18n.Text{
	"health_check_enabled":           i18n.New("every server is watched all the time", "每个服务器始终受到监视"),
	"health_check_interval":          i18n.New("every server is watched all the time", "每个服务器始终受到监视"),
	"health_check_timeout":           i18n.New("limits.handshake bounds a greeting", "由 limits.handshake 限定握手时间"),
	"health_check_failure_threshold": i18n.New("retries of a server says when it is down", "由服务器的 retries 决定何时判定为不可用"),
	"include_structured_content":     PassedOn,
	"toon_compression_enabled":       PassedOn,
	"toon_compression_min_size":      PassedOn,
	"inputs":                         i18n.New("write ${secret:name} instead of ${input:name}", "请用 ${secret:name} 代替 ${input:name}"),
	"$schema":                        {},
}

// takeTop stores the top-level keys outside the servers under our names.
func (l *Layout) takeTop(root *document.Node, c *problem.List) {
	l.Top = root.With(nil)
	l.Tester = root.Get("mcp-tester.timeout")
	if l.Shape == ShapeBare || l.Shape == ShapeTester || len(l.Holder) > 1 {
		return // the other keys are settings of another program
	}
	l.Denied = root.Get("disabled_tools")
	compact := root.Get("compact")
	for _, m := range root.Members {
		reason, idle := topIdle[m.Key]
		ours, renamed := TopNames[m.Key]
		switch {
		case m.Key == "compact" || m.Key == "disabled_tools" || isHolder(m.Key):
		case idle && reason.Empty():
		case idle:
			c.Add(problem.SeverityWarning, m.Pos, m.Key, problem.NoEffect, m.Key, reason)
		case renamed:
			if compact == nil || compact.Kind != document.KindObject {
				compact = &document.Node{Pos: m.Pos, Kind: document.KindObject}
			}
			compact = compact.With(append(compact.Members, document.Member{Pos: m.Pos, Key: ours, Value: m.Value}))
		default:
			l.Top.Members = append(l.Top.Members, m)
		}
	}
	if compact != nil {
		l.Top.Members = append(l.Top.Members, document.Member{Pos: compact.Pos, Key: "compact", Value: compact})
	}
}

func isHolder(key string) bool {
	for _, h := range holders {
		if h.path[0].Key == key {
			return true
		}
	}
	return false
}

// nameFor returns the key of an entry that is used for our key of that name:
// our key itself, or else the alphabetically first alias, so that the order in
// the file does not matter.
func nameFor(n *document.Node, key string) string {
	if n.Has(key) {
		return key
	}
	first := ""
	for _, m := range n.Members {
		alias := ServerNames[m.Key]
		if m.Key == "tools" && m.Value.Kind == document.KindArray {
			alias = "allow"
		}
		if alias == key && (first == "" || m.Key < first) {
			first = m.Key
		}
	}
	return first
}

// OwnServer returns an entry with every key renamed to ours.
func OwnServer(n *document.Node, path string, c *problem.List) *document.Node {
	out := n.With(make([]document.Member, 0, len(n.Members)))
	put := func(m document.Member, key string) {
		if other := nameFor(n, key); key != m.Key && other != "" && other != m.Key {
			c.Add(problem.SeverityWarning, m.Pos, document.Join(path, m.Key), problem.TwoNames, m.Key, other)
			return
		}
		out.Members = append(out.Members, document.Member{Pos: m.Pos, Key: key, Value: m.Value})
	}
	for _, m := range n.Members {
		reason, idle := serverIdle[m.Key]
		switch {
		case idle && !reason.Empty():
			c.Add(problem.SeverityWarning, m.Pos, document.Join(path, m.Key), problem.NoEffect, m.Key, reason)
		case idle:
		case m.Key == "disabled" && m.Value.Kind == document.KindBool:
			not := *m.Value
			not.Text = map[string]string{"true": "false", "false": "true"}[m.Value.Text]
			m.Value = &not
			put(m, "enabled")
		case m.Key == "command" && m.Value.Kind == document.KindArray && len(m.Value.Items) > 0:
			out.Members = append(out.Members, splitCommand(m, n.Get("args"))...)
		case m.Key == "args" && n.Has("command") && n.Get("command").Kind == document.KindArray:
		case m.Key == "tools" && m.Value.Kind == document.KindArray:
			put(m, "allow")
		case m.Key == "type":
			put(ownType(m), "type")
		case ServerNames[m.Key] != "":
			put(ownType(m), ServerNames[m.Key])
		default:
			put(m, m.Key)
		}
	}
	if n.Has("httpUrl") && !n.Has("type") && !n.Has("url") {
		out.Members = append(out.Members, document.Member{Pos: n.Pos, Key: "type", Value: &document.Node{Pos: n.Pos, Kind: document.KindString, Text: "http"}})
	}
	return out
}

// splitCommand splits a command that is written as a list into command and
// args.
func splitCommand(m document.Member, args *document.Node) []document.Member {
	rest := &document.Node{Pos: m.Value.Pos, Kind: document.KindArray, Items: m.Value.Items[1:]}
	if args != nil && args.Kind == document.KindArray {
		rest.Items = append(append([]*document.Node(nil), rest.Items...), args.Items...)
	}
	return []document.Member{{Pos: m.Pos, Key: "command", Value: m.Value.Items[0]}, {Pos: m.Pos, Key: "args", Value: rest}}
}

// ownType renames the transport if m is the type.
func ownType(m document.Member) document.Member {
	if m.Value.Kind != document.KindString || (m.Key != "type" && ServerNames[m.Key] != "type") {
		return m
	}
	if own := typeNames[strings.TrimSpace(m.Value.Text)]; own != "" {
		v := *m.Value
		v.Text = own
		m.Value = &v
	}
	return m
}

var PassedOn = i18n.New("exec passes on the result of the tool unchanged", "exec 原样返回工具的结果")
