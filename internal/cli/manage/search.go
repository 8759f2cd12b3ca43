package manage

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
)

func SearchCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "search WORD", Short: a.T("look for servers in the registries", "在注册表中查找服务器"), Args: command.ArgCount(a, 1, 1),
		Long: a.T("Lists the servers in MCP registries whose names contain WORD. `registries` in the config file sets which registries are searched.",
			"列出 MCP 注册表中名称含有 WORD 的服务器。查找哪些注册表由配置文件中的 `registries` 决定。"),
		Example: "  mcp-all-in-one search airtable\n  mcp-all-in-one add io.github.domdomegg/airtable-mcp-server",
		RunE: func(cmd *cobra.Command, args []string) error {
			if utf8.RuneCountInString(strings.TrimSpace(args[0])) < install.MinSearch {
				return command.UsageError(a, cmd, a.T("a word to search for has at least three characters", "查找的词至少要有三个字符"))
			}
			return search(cmd, a, strings.TrimSpace(args[0]))
		},
	}
}

func search(cmd *cobra.Command, a *env.Env, word string) error {
	cfg, err := loadOrNew(a)
	if err != nil {
		return err
	}
	list, faults := offer.Search(cmd.Context(), cfg, word)
	if len(list) == 0 && len(faults) > 0 {
		return said(a, faults[0])
	}
	for _, fault := range faults {
		if e, ok := errors.AsType[*install.Error](fault); ok {
			fmt.Fprintln(a.Stderr, e.In(a.Lang))
		}
	}
	t := &env.Table{Head: []string{a.T("NAME", "名称"), a.T("VERSION", "版本"), a.T("KINDS", "方式"), a.T("STATUS", "状态"), a.T("NOTE", "备注"), a.T("DESCRIPTION", "说明")},
		None: a.T("no registry has a server whose name contains "+word, "没有注册表收录含有 "+word+" 的名称")}
	for _, f := range list {
		note := ""
		switch {
		case f.LooksLike != "":
			note = a.T("looks like ", "类似 ") + f.LooksLike
		case f.Installed != "":
			note = a.T("installed as ", "已安装为 ") + f.Installed
		}
		t.Add(f.Name, f.Version, strings.Join(f.Kinds, ","), f.Status, note, f.Description)
	}
	env.Show(a, list, t)
	return nil
}
