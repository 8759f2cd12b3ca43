package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/probe"
)

func lintCommand(a *app) *cobra.Command {
	var f probeFlags
	var strict bool
	cmd := probeCommand(a, "lint TARGET", a.t("find what clients and models will stumble over", "检查客户端与模型可能出问题的地方"), &f,
		func(cmd *cobra.Command, args []string) error {
			m, err := parseTarget(a, cmd, &f, args)
			if err != nil {
				return err
			}
			return once(cmd.Context(), a, &f, m, func(b *bout) error { return lintServer(b, strict) })
		})
	cmd.Long = a.t("Look at names, descriptions and schemas of everything that a server lists. Exit code 6 says that\nthere are errors; with --strict, warnings count too.",
		"检查服务列出的名称、描述与 schema。退出码 6 表示有错误；使用 --strict 时警告也计入。")
	cmd.Flags().BoolVar(&strict, "strict", false, a.t("warnings count too", "警告也计入"))
	return cmd
}

func lintServer(b *bout, strict bool) error {
	found, err := probe.Lint(b.ctx, b.Session)
	if err != nil {
		return err
	}
	a := b.app
	bad := 0
	for _, f := range found {
		if f.Severity == "error" || strict {
			bad++
		}
		if !a.asJSON {
			fmt.Fprintf(a.Stdout, a.t("%s: %s %s: %s [%s]\n", "%s：%s %s：%s [%s]\n"), a.t(f.Severity, map[string]string{"error": "错误", "warning": "警告"}[f.Severity]), f.Kind, f.Item, a.t(f.Message, f.MessageZH), f.Rule)
		}
	}
	if a.asJSON {
		writeLine(a.Stdout, map[string]any{"findings": append([]probe.Finding{}, found...)})
	} else {
		fmt.Fprintf(a.Stdout, "%d %s\n", len(found), a.t("findings", "项发现"))
	}
	if bad > 0 {
		return silent(exitInvalid)
	}
	return nil
}
