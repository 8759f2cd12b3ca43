package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/web"
)

func ReloadCommand(a *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: a.T("let the running gateway read its config file again", "让正在运行的网关重新读取配置文件"),
		Long: a.T("Lets the running gateway read its config file again, and prints what changed. Servers\nthat did not change go on. A file that cannot be read changes nothing.",
			"让正在运行的网关重新读取配置文件，并显示变化。未变化的服务继续运行。\n无法读取的文件不会造成任何变化。"),
		Args: NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return runReload(cmd.Context(), a) },
	}
}

func runReload(ctx context.Context, a *Env) error {
	r, err := RunningHere(ctx, a)
	if err != nil {
		return err
	}
	var report web.Reload
	if err := r.Post(ctx, "/reload", nil, &report); err != nil {
		if e := new(ExitError); errors.As(err, &e) {
			e.Details = append(e.Details, Detail{a.T("note", "说明"), StaleNote(a, r)})
		}
		return err
	}
	if a.JSON {
		WriteLine(a.Stdout, report)
		return nil
	}
	if report.Empty() {
		fmt.Fprintln(a.Stdout, a.T("nothing changed: ", "没有变化：")+report.Path)
		return nil
	}
	for _, part := range Changes(a, &report) {
		fmt.Fprintln(a.Stdout, part)
	}
	SayRestart(a, &report)
	return nil
}

// SayRestart names the settings that count from the next start on.
func SayRestart(a *Env, report *web.Reload) {
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

// Changes say what reading a file changes, one line for each kind of it.
func Changes(a *Env, r *web.Reload) []string {
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
	add(a.T("settings ", "设置 "), r.Settings)
	return list
}

// UnreadText says what a gateway has not read of its file.
func UnreadText(a *Env, u *web.Unread) string {
	if u.Error != "" {
		return fmt.Sprintf(a.T("the file has changed since it was read, and cannot be read: %s; the running gateway goes on with what it read before",
			"配置文件在读取之后已更改，且无法读取：%s；正在运行的网关继续使用先前读取的配置"), a.T(u.Error, u.ErrorZH))
	}
	return a.T("the file has changed since it was read; not read yet: ", "配置文件在读取之后已更改；尚未读取：") + strings.Join(Changes(a, &u.Reload), a.T("; ", "；"))
}

// WarnUnread tells a person that what a running gateway says is not what the file
// says, and how it can be.
func WarnUnread(a *Env, page *StatusPage) {
	if page.Unread != nil && !a.JSON {
		fmt.Fprintf(a.Stderr, "%s%s\n  %s  %s\n", a.T("warning: ", "警告："), UnreadText(a, page.Unread), PadRight(a.T("fix", "修正"), 8), a.Again("reload"))
	}
}
