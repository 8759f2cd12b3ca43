package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
)

// SayRestart prints the changed settings that take effect after a restart.
func SayRestart(a *env.Env, report *web.Reload) {
	var late []string
	for _, v := range config.Values(new(config.Config)) {
		for _, key := range report.Settings {
			if v.Key == key && v.Restart {
				late = append(late, key)
			}
		}
	}
	if len(late) > 0 {
		fmt.Fprintf(a.Stderr, a.T("after a restart: %s\n", "重启后生效：%s\n"), strings.Join(late, a.T(", ", "、")))
	}
}

// Changes describes what reading a file changes, one line for each kind of
// change.
func Changes(a *env.Env, r *web.Reload) []string {
	var list []string
	add := func(what string, names []string) {
		for i, name := range names {
			names[i] = strings.TrimPrefix(name, config.DefaultSchema+"/")
		}
		if len(names) > 0 {
			list = append(list, what+strings.Join(names, a.T(", ", "、")))
		}
	}
	add(a.T("added ", "新增 "), r.Added)
	add(a.T("removed ", "移除 "), r.Removed)
	add(a.T("changed ", "修改 "), r.Changed)
	add(a.T("changed settings: ", "修改设置："), r.Settings)
	return list
}

// UnreadText describes the changes of its file that a gateway has not read.
func UnreadText(a *env.Env, u *web.Unread) string {
	if u.Error != "" {
		return fmt.Sprintf(a.T("the file has changed since it was read, and cannot be read: %s; the running gateway goes on with what it read before",
			"配置文件在读取之后已更改，且无法读取：%s；正在运行的网关继续使用先前读取的配置"), a.T(u.Error, u.ErrorZH))
	}
	return a.T("the file has changed since it was read; not read yet: ", "配置文件在读取之后已更改；尚未读取：") + strings.Join(Changes(a, &u.Reload), a.T("; ", "；"))
}

// SayUnread warns about unread changes, and returns an error for a server that
// only the file has.
func SayUnread(a *env.Env, page *StatusPage, id, label string) error {
	if page.Unread == nil || !slices.Contains(page.Unread.Added, id) {
		WarnUnread(a, page)
		return nil
	}
	return &env.ExitError{Code: env.ExitUnreachable, ID: env.CodeUnreachable, Hint: a.Again("reload"),
		Err:     i18n.Errorf("server %s is not in the running gateway: %s", "正在运行的网关中没有服务器 %s：%s", label, UnreadText(a, page.Unread)),
		Details: []env.Detail{{Label: a.T("target", "目标"), Text: label}}}
}

// WarnUnread warns that the running gateway and its config file differ, and
// prints the command that reloads it.
func WarnUnread(a *env.Env, page *StatusPage) {
	if page.Unread != nil && !a.JSON {
		fmt.Fprintf(a.Stderr, "%s%s\n  %s  %s\n", a.T("warning: ", "警告："), UnreadText(a, page.Unread), env.PadRight(a.T("fix", "修正"), 8), a.Again("reload"))
	}
}

// StateIn returns a function that translates the states in one column of a
// table.
func StateIn(a *env.Env, column int) func(int, string) string {
	return func(n int, cell string) string {
		if n != column {
			return cell
		}
		return StateWord(a, cell)
	}
}

// ServerLabel returns the name of a server, with its schema if there are
// several.
func ServerLabel(a *env.Env, page *StatusPage, schema, name string) string {
	if len(page.Schemas) > 1 {
		return schema + "/" + name
	}
	return name
}

var StateColours = map[upstream.State]env.Colour{
	upstream.Ready: env.Green, upstream.Starting: env.Yellow, upstream.Restarting: env.Yellow, upstream.Pending: env.Yellow,
	upstream.Failed: env.Red, upstream.CrashLooping: env.Red, upstream.SignIn: env.Red, upstream.Unconfigured: env.Red, upstream.Refused: env.Red, upstream.Disabled: env.Dim,
}

// stateConfigured is the state of a server that no running gateway knows.
const stateConfigured = "configured"

// A configured is one server in the list.
type configured struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	State  string `json:"state"`
	Type   string `json:"type"`
	Target string `json:"target"`
}

func ConfiguredServers(cfg *config.Config, states map[string]string) []configured {
	rows := []configured{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			row := configured{Schema: schema.Name, Name: s.Name, Type: s.Type, State: stateConfigured, Target: env.TargetOf(s)}
			switch state := states[s.ID()]; {
			case state != "":
				row.State = state
			case !s.Enabled || !schema.Enabled:
				row.State = string(upstream.Disabled)
			case s.Pending:
				row.State = string(upstream.Pending)
			case len(s.Missing) > 0:
				row.State = string(upstream.Unconfigured)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// StateWord returns the state of a server in the user's language. Scripts get
// the state itself.
func StateWord(a *env.Env, state string) string {
	return a.T(state, cmp.Or(statesZH[upstream.State(state)], state))
}

var statesZH = map[upstream.State]string{
	stateConfigured: "已配置", upstream.Ready: "就绪", upstream.Disabled: "已停用",
	upstream.Starting: "启动中", upstream.Restarting: "重启中", upstream.Failed: "失败", upstream.CrashLooping: "反复崩溃",
	upstream.SignIn: "需要登录", upstream.Stopped: "已停止", upstream.Pending: "等待批准", upstream.Unconfigured: "缺少配置", upstream.Refused: "被 mcp.lock 拒绝",
}
