package test

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/tester/lint"
)

func LintCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	var strict bool
	cmd := target.NewOnce(a, "lint TARGET", a.T("find names, descriptions and schemas that cause trouble", "检查可能引起问题的名称、描述和 schema"), &f,
		func(b *target.Connection, _ []string) error { return lintServer(b, strict) })
	cmd.Long = a.T("Checks names, descriptions and schemas of everything that a server lists. Exit code 6 says that\nthere are errors; with --strict, warnings count too.",
		"检查服务器列出的名称、描述与 schema。退出码 6 表示有错误；使用 --strict 时警告也计入。")
	cmd.Flags().BoolVar(&strict, "strict", false, a.T("warnings count too", "警告也计入"))
	return cmd
}

func lintServer(b *target.Connection, strict bool) error {
	found, err := lint.Lint(b.Ctx, b.Session)
	if err != nil {
		return err
	}
	a := b.Env
	bad := 0
	for _, f := range found {
		if f.Severity == "error" || strict {
			bad++
		}
		if !a.JSON {
			fmt.Fprintf(a.Stdout, a.T("%s: %s %s: %s [%s]\n", "%s：%s %s：%s [%s]\n"), a.T(f.Severity, map[string]string{"error": "错误", "warning": "警告"}[f.Severity]), f.Kind, f.Item, a.T(f.Message, f.MessageZH), f.Rule)
		}
	}
	if !env.ShowJSON(a, map[string]any{"findings": append([]lint.Finding{}, found...)}) {
		fmt.Fprintf(a.Stdout, a.T(env.Many(len(found), "%d finding\n", "%d findings\n"), "发现 %d 个问题\n"), len(found))
	}
	if bad > 0 {
		return env.Silent(env.ExitInvalid)
	}
	return nil
}
