package manage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/certs"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web"
)

func ConfigCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: a.T("show and change the config file", "查看和修改配置文件"), Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	sub := func(use, short string, run func(cmd *cobra.Command) error) {
		one := &cobra.Command{Use: use, Short: short, Args: command.NoArgs(a)}
		if strings.HasSuffix(use, "[FILE]") {
			one.Args = command.ArgCount(a, 0, 1)
		}
		one.RunE = func(cmd *cobra.Command, args []string) error {
			command.TakeConfig(a, args)
			return run(cmd)
		}
		cmd.AddCommand(one)
	}
	sub("path", a.T("print which file is used", "显示使用的文件"), func(*cobra.Command) error { return configPathRun(a) })
	sub("show [FILE]", a.T("print the file with its secrets hidden", "显示文件内容（隐藏密钥）"), func(*cobra.Command) error { return configShow(a) })
	sub("edit [FILE]", a.T("open the file in an editor, and check it afterwards", "用编辑器打开文件，之后进行检查"), func(cmd *cobra.Command) error { return configEdit(a, cmd) })
	sub("validate [FILE]", a.T("check the file", "检查文件"), func(*cobra.Command) error { return configValidate(a) })
	sub("schema", a.T("print the JSON Schema of the file", "显示文件的 JSON Schema"), func(*cobra.Command) error {
		_, err := a.Stdout.Write(config.JSONSchema())
		return err
	})
	return cmd
}

func configPathRun(a *env.Env) error {
	found, err := config.Discover(a.LoadOptions(false))
	if err != nil {
		return err
	}
	if env.ShowJSON(a, map[string]any{"path": found.Path, "source": found.Source, "tried": found.Tried, "skipped": found.Skipped}) {
		return nil
	}
	fmt.Fprintln(a.Stdout, found.Path)
	for _, path := range found.Skipped {
		fmt.Fprintf(a.Stderr, "%s%s\n", a.T("not used without --project: ", "未使用 --project，忽略："), path)
	}
	return nil
}

func configShow(a *env.Env) error {
	found, err := config.Discover(a.LoadOptions(false))
	if err != nil {
		return err
	}
	data, err := os.ReadFile(found.Path)
	if err != nil {
		return err
	}
	shown, err := edit.Redact(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s\n", shown)
	return nil
}

// configEdit opens the config file itself, not a copy: the saved file takes
// effect.
func configEdit(a *env.Env, cmd *cobra.Command) error {
	found, err := config.Discover(a.LoadOptions(true))
	if err != nil {
		return err
	}
	if err := openEditor(cmd.Context(), a, found.Path); err != nil {
		return err
	}
	a.ConfigPath = found.Path
	if err := configValidate(a); err != nil {
		return err
	}
	if r := control.Running(cmd.Context(), a, found.Path); r != nil {
		return r.Post(cmd.Context(), "/reload", nil, nil)
	}
	return nil
}

// openEditor opens a file in the editor of the environment, and waits for its
// end.
func openEditor(ctx context.Context, a *env.Env, path string) error {
	editor := exec.CommandContext(ctx, "sh", "-c", findEditor(a)+` "$1"`, "sh", path)
	if runtime.GOOS == "windows" {
		editor = exec.CommandContext(ctx, "cmd", "/c", findEditor(a), path)
	}
	editor.Stdin, editor.Stdout, editor.Stderr = a.Stdin, env.Stream(a.Stdout), a.Stderr
	if err := editor.Run(); err != nil {
		return i18n.Errorf("running the editor: %w", "运行编辑器失败：%w", err)
	}
	return nil
}

func findEditor(a *env.Env) string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v, ok := a.Getenv(name); ok && v != "" {
			return v
		}
	}
	if runtime.GOOS == "windows" {
		return "notepad"
	}
	return "vi"
}

// configValidate runs the same checks as the start of the gateway. It creates
// nothing.
func configValidate(a *env.Env) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	if _, err := certs.ForHost(cfg, cfg.Server.Host, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	servers := 0
	for _, s := range cfg.Schemas {
		servers += len(s.Servers)
	}
	if a.JSON {
		return env.WriteLine(a.Stdout, map[string]any{"valid": true, "path": cfg.Path, "servers": servers, "problems": append([]problem.Problem{}, cfg.Problems...)})
	}
	for _, p := range cfg.Problems {
		fmt.Fprintln(a.Stderr, a.ProblemText(p))
	}
	fmt.Fprintf(a.Stdout, a.T(env.Many(servers, "ok %s (%d server)\n", "ok %s (%d servers)\n"), "通过 %s（%d 个服务器）\n"), cfg.Path, servers)
	return nil
}

func ReloadCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: a.T("make the running gateway read its config file again", "让正在运行的网关重新读取配置文件"),
		Long: a.T("Makes the running gateway read its config file again, and prints what changed. Servers\nwhose entries did not change keep running. A broken file changes nothing.",
			"让正在运行的网关重新读取配置文件，并显示变化。未变化的服务器继续运行。\n无法读取的文件不会造成任何变化。"),
		Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return runReload(cmd.Context(), a) },
	}
}

func runReload(ctx context.Context, a *env.Env) error {
	r, err := control.RunningHere(ctx, a)
	if err != nil {
		return err
	}
	var report web.Reload
	if err := r.Post(ctx, "/reload", nil, &report); err != nil {
		if e := new(env.ExitError); errors.As(err, &e) {
			fmt.Fprintln(a.Stderr, control.StaleNote(a, r))
			if _, broken := a.Load(false); control.Stale(ctx, a, broken) != nil {
				return broken // with the code of what is wrong in the file
			}
		}
		return err
	}
	if env.ShowJSON(a, report) {
		return nil
	}
	if report.Empty() {
		fmt.Fprintln(a.Stdout, a.T("nothing changed: ", "没有变化：")+report.Path)
		return nil
	}
	for _, part := range control.Changes(a, &report) {
		fmt.Fprintln(a.Stdout, part)
	}
	control.SayRestart(a, &report)
	return nil
}
