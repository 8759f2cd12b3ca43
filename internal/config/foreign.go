package config

import (
	"strings"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// serverNames are the names that other programs give to our keys.
var serverNames = map[string]string{
	"serverUrl": "url", "httpUrl": "url", "endpoint": "url",
	"customHeaders": "headers", "http_headers": "headers", "requestHeaders": "headers",
	"environment": "env", "envs": "env",
	"cmd": "command", "transport": "type", "transportType": "type",
	"workingDirectory": "cwd",
	"retryDelay":       "restartDelay", "reconnectInterval": "restartDelay", "maxRetries": "retries",
	"includeTools": "allow", "enabled_tools": "allow",
	"excludeTools": "deny", "disabledTools": "deny", "disabled_tools": "deny",
}

// serverIdle are keys of other programs that mean nothing to a gateway.
var serverIdle = map[string]i18n.Text{
	"autoApprove": i18n.New("the client asks, not the gateway", "由客户端询问，而不是网关"), "alwaysAllow": i18n.New("the client asks, not the gateway", "由客户端询问，而不是网关"),
	"trust": i18n.New("the client asks, not the gateway", "由客户端询问，而不是网关"), "envFile": i18n.New("write the variables into env", "请把变量写入 env"),
	"description": {}, "gallery": {}, "version": {}, "iconPath": {}, "source": {}, "name": {}, "$schema": {},
}

// typeNames are the names that other programs give to the transports.
var typeNames = map[string]string{
	"local": TypeStdio, "streamable-http": TypeHTTP, "streamableHttp": TypeHTTP, "streamable_http": TypeHTTP,
	"streamable http": TypeHTTP, "streamablehttp": TypeHTTP, "remote": TypeAuto,
}

// topNames are MCPX's keys at the top of a file.
var topNames = map[string]string{"schema_compression_enabled": "types"}

// topIdle are keys of other programs at the top of a file that mean nothing
// here.
var topIdle = map[string]i18n.Text{
	"health_check_enabled":           i18n.New("every server is watched all the time", "每个服务始终受到监视"),
	"health_check_interval":          i18n.New("every server is watched all the time", "每个服务始终受到监视"),
	"health_check_timeout":           i18n.New("limits.handshake bounds a greeting", "由 limits.handshake 限定握手时间"),
	"health_check_failure_threshold": i18n.New("retries of a server says when it is down", "由服务的 retries 决定何时判定为不可用"),
	"include_structured_content":     passedOn,
	"toon_compression_enabled":       passedOn,
	"toon_compression_min_size":      passedOn,
	"inputs":                         i18n.New("write ${secret:name} instead of ${input:name}", "请用 ${secret:name} 代替 ${input:name}"),
	"$schema":                        {},
}

// takeTop keeps the keys beside the servers, under our names.
func (l *layout) takeTop(root *node, c *problem.List) {
	l.top = root.with(nil)
	l.tester = root.get("mcp-tester.timeout")
	if l.shape == ShapeBare || l.shape == ShapeTester || len(l.holder) > 1 {
		return // the rest is somebody else's settings
	}
	l.denied = root.get("disabled_tools")
	compact := root.get("compact")
	for _, m := range root.members {
		reason, idle := topIdle[m.key]
		ours, renamed := topNames[m.key]
		switch {
		case m.key == "compact" || m.key == "disabled_tools" || isHolder(m.key):
		case idle && reason.Empty():
		case idle:
			c.Add(problem.SeverityWarning, m.Pos, m.key, problem.NoEffect, m.key, reason)
		case renamed:
			if compact == nil || compact.kind != kindObject {
				compact = &node{Pos: m.Pos, kind: kindObject}
			}
			compact = compact.with(append(compact.members, member{m.Pos, ours, m.value}))
		default:
			l.top.members = append(l.top.members, m)
		}
	}
	if compact != nil {
		l.top.members = append(l.top.members, member{compact.Pos, "compact", compact})
	}
}

func isHolder(key string) bool {
	for _, h := range holders {
		if h.path[0].key == key {
			return true
		}
	}
	return false
}

// nameFor is the key of an entry that counts as ours of that name: ours, or of
// other programs' the first in the alphabet, so that the order in the file
// never tells.
func nameFor(n *node, key string) string {
	if n.has(key) {
		return key
	}
	first := ""
	for _, m := range n.members {
		alias := serverNames[m.key]
		if m.key == "tools" && m.value.kind == kindArray {
			alias = "allow"
		}
		if alias == key && (first == "" || m.key < first) {
			first = m.key
		}
	}
	return first
}

// ownServer returns an entry with every key under our name.
func ownServer(n *node, path string, c *problem.List) *node {
	out := n.with(make([]member, 0, len(n.members)))
	put := func(m member, key string) {
		if other := nameFor(n, key); key != m.key && other != "" && other != m.key {
			c.Add(problem.SeverityWarning, m.Pos, join(path, m.key), problem.TwoNames, m.key, other)
			return
		}
		out.members = append(out.members, member{m.Pos, key, m.value})
	}
	for _, m := range n.members {
		reason, idle := serverIdle[m.key]
		switch {
		case idle && !reason.Empty():
			c.Add(problem.SeverityWarning, m.Pos, join(path, m.key), problem.NoEffect, m.key, reason)
		case idle:
		case m.key == "disabled" && m.value.kind == kindBool:
			not := *m.value
			not.text = map[string]string{"true": "false", "false": "true"}[m.value.text]
			m.value = &not
			put(m, "enabled")
		case m.key == "command" && m.value.kind == kindArray && len(m.value.items) > 0:
			out.members = append(out.members, splitCommand(m, n.get("args"))...)
		case m.key == "args" && n.has("command") && n.get("command").kind == kindArray:
		case m.key == "tools" && m.value.kind == kindArray:
			put(m, "allow")
		case m.key == "type":
			put(ownType(m), "type")
		case serverNames[m.key] != "":
			put(ownType(m), serverNames[m.key])
		default:
			put(m, m.key)
		}
	}
	if n.has("httpUrl") && !n.has("type") && !n.has("url") {
		out.members = append(out.members, member{n.Pos, "type", &node{Pos: n.Pos, kind: kindString, text: TypeHTTP}})
	}
	return out
}

// splitCommand turns a command written as one list into command and args.
func splitCommand(m member, args *node) []member {
	rest := &node{Pos: m.value.Pos, kind: kindArray, items: m.value.items[1:]}
	if args != nil && args.kind == kindArray {
		rest.items = append(append([]*node(nil), rest.items...), args.items...)
	}
	return []member{{m.Pos, "command", m.value.items[0]}, {m.Pos, "args", rest}}
}

// ownType renames a transport when m is the type.
func ownType(m member) member {
	if m.value.kind != kindString || (m.key != "type" && serverNames[m.key] != "type") {
		return m
	}
	if own := typeNames[strings.TrimSpace(m.value.text)]; own != "" {
		v := *m.value
		v.text = own
		m.value = &v
	}
	return m
}
