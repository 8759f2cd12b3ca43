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

func reloadCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: a.t("let the running gateway read its config file again", "让正在运行的网关重新读取配置文件"),
		Long: a.t("Lets the running gateway read its config file again, and prints what changed. Servers\nthat did not change go on. A file that cannot be read changes nothing.",
			"让正在运行的网关重新读取配置文件，并显示变化。未变化的服务继续运行。\n无法读取的文件不会造成任何变化。"),
		Args: noArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return runReload(cmd.Context(), a) },
	}
}

func runReload(ctx context.Context, a *app) error {
	r, err := runningHere(ctx, a)
	if err != nil {
		return err
	}
	var report web.Reload
	if err := r.post(ctx, "/reload", nil, &report); err != nil {
		if e := new(exitError); errors.As(err, &e) {
			e.details = append(e.details, detail{a.t("note", "说明"), staleNote(a, r)})
		}
		return err
	}
	if a.asJSON {
		writeLine(a.Stdout, report)
		return nil
	}
	if report.Empty() {
		fmt.Fprintln(a.Stdout, a.t("nothing changed: ", "没有变化：")+report.Path)
		return nil
	}
	for _, part := range changes(a, &report) {
		fmt.Fprintln(a.Stdout, part)
	}
	sayRestart(a, &report)
	return nil
}

// sayRestart names the settings that count from the next start on.
func sayRestart(a *app, report *web.Reload) {
	var late []string
	for _, v := range config.Values(new(config.Config)) {
		for _, key := range report.Settings {
			if v.Key == key && v.Restart {
				late = append(late, key)
			}
		}
	}
	if len(late) > 0 {
		fmt.Fprintf(a.Stderr, a.t("after a restart: %s\n", "重启后生效：%s\n"), strings.Join(late, a.t(", ", "、")))
	}
}

// changes say what reading a file changes, one line for each kind of it.
func changes(a *app, r *web.Reload) []string {
	var list []string
	add := func(what string, names []string) {
		for i, name := range names {
			names[i] = strings.TrimPrefix(name, config.DefaultSchema+"/")
		}
		if len(names) > 0 {
			list = append(list, what+strings.Join(names, a.t(", ", "、")))
		}
	}
	add(a.t("added ", "新增 "), r.Added)
	add(a.t("removed ", "移除 "), r.Removed)
	add(a.t("changed ", "修改 "), r.Changed)
	add(a.t("settings ", "设置 "), r.Settings)
	return list
}

// unreadText says what a gateway has not read of its file.
func unreadText(a *app, u *web.Unread) string {
	if u.Error != "" {
		return fmt.Sprintf(a.t("the file has changed since it was read, and cannot be read: %s; the running gateway goes on with what it read before",
			"配置文件在读取之后已更改，且无法读取：%s；正在运行的网关继续使用先前读取的配置"), a.t(u.Error, u.ErrorZH))
	}
	return a.t("the file has changed since it was read; not read yet: ", "配置文件在读取之后已更改；尚未读取：") + strings.Join(changes(a, &u.Reload), a.t("; ", "；"))
}

// warnUnread tells a person that what a running gateway says is not what the file
// says, and how it can be.
func warnUnread(a *app, page *statusPage) {
	if page.Unread != nil && !a.asJSON {
		fmt.Fprintf(a.Stderr, "%s%s\n  %s  %s\n", a.t("warning: ", "警告："), unreadText(a, page.Unread), padRight(a.t("fix", "修正"), 8), a.again("reload"))
	}
}
