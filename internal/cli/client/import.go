package client

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/env"
)

func ImportCommand(a *env.Env) *cobra.Command {
	var f clients.ImportFlags
	cmd := &cobra.Command{
		Use:   "import [CLIENT|FILE|-]...",
		Short: a.T("import the servers of other programs", "导入其他程序的服务器"),
		Long: a.T("Imports the servers of other programs. Without arguments it only lists them. It names\nthe servers that it cannot import; secrets can be moved into the secret store.\nFiles of the working tree, such as .cursor/mcp.json, are read with --from-project. The\nname of a client comes before a file of that name: ./cursor is the file. A server\nwhose name another one has is skipped, unless --rename or --replace says otherwise;\non a terminal you are asked.",
			"导入其他程序的服务器。不带参数时只列出可导入的内容。\n无法导入的内容会逐项说明；密钥可以移入密钥库。\n使用 --from-project 读取工作目录中的文件，如 .cursor/mcp.json。\n客户端名称优先于同名文件：./cursor 表示文件。名称已被占用的服务器会跳过，\n除非使用 --rename 或 --replace；在终端中会询问。"),
		Example: "  mcp-all-in-one import\n  mcp-all-in-one import cursor claude-code --dry-run\n  mcp-all-in-one import vscode --store-secrets\n  mcp-all-in-one import cursor --from-project\n  mcp-all-in-one import cursor --rename files=files-cursor\n  mcp-all-in-one import ./mcp.json",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: completeClients,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return clients.ImportSources(a)
			}
			return runImport(a, cmd, f, args)
		},
	}
	flags := cmd.Flags()
	command.AddSchemaFlag(a, cmd, &f.Schema)
	flags.BoolVarP(&f.DryRun, "dry-run", "n", false, a.T("show what would be done and write nothing", "只说明将做什么，不写入"))
	flags.BoolVar(&f.Replace, "replace", false, a.T("replace servers of the same name that differ", "替换同名但内容不同的服务器"))
	flags.StringToStringVar(&f.Rename, "rename", nil, a.T("import the server under another name, as `NAME=NEW`; may be repeated", "以其他名称导入服务器，格式为 `NAME=NEW`；可重复"))
	flags.BoolVar(&f.Tree, "from-project", false, a.T("read the files of the working tree too", "同时读取工作目录中的文件"))
	flags.BoolVar(&f.StoreSecrets, "store-secrets", false, a.T("move secrets into the secret store", "将密钥移入密钥库"))
	return cmd
}

func runImport(a *env.Env, cmd *cobra.Command, f clients.ImportFlags, args []string) error {
	var from []clients.ImportSource
	for _, arg := range args {
		s, err := clients.SourceOf(a, arg)
		if err != nil {
			return err
		}
		from = append(from, s)
	}
	var list []clients.Translation
	var failed []error // an unreadable file does not stop the others
	for _, s := range from {
		found, errs := clients.ReadImport(a, s, f.Tree)
		list, failed = append(list, found...), append(failed, errs...)
	}
	f.Unseen = !env.IsTerminal(a.Stdin)
	if !f.DryRun && !a.JSON {
		f.Ask = clients.AskName(cmd.Context(), a)
	}
	done, err := clients.ImportAll(cmd.Context(), a, list, f)
	if err != nil {
		return err
	}
	sayImported(a, done, len(failed) > 0)
	for i, err := range failed {
		if i == len(failed)-1 {
			return err
		}
		a.Report(err)
	}
	return nil
}

// sayImported prints the result for every server. If no server was found
// because of an error, it prints nothing; the error is reported by the caller.
func sayImported(a *env.Env, done []clients.Imported, failed bool) {
	if a.JSON {
		if len(done) > 0 || !failed {
			env.WriteLine(a.Stdout, done)
		}
		return
	}
	for _, d := range done {
		fmt.Fprintf(a.Stdout, "%s\t%s%s\n", d.Name, d.Outcome, clients.UnderName(a, d))
		for _, note := range d.Notes {
			fmt.Fprintf(a.Stderr, "  %s%s%s\n", d.Name, a.T(": ", "："), note)
		}
	}
}
