package cli

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

// A personality is one of the programs that this binary is: its commands,
// flags, files and ports.
type personality struct {
	name   string // what it calls itself
	config config.Personality
	port   int
	root   func(*app) *cobra.Command
}

// personalities by the names that they are called by.
var personalities map[string]personality

func init() {
	own := personality{name: "mcp-all-in-one", config: config.MCPAllInOne, port: 3095, root: (*app).mainRoot}
	personalities = map[string]personality{"mcp-all-in-one": own, "aio": own}
}

// mainRoot is the command tree of mcp-all-in-one.
func (a *app) mainRoot() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "mcp-all-in-one",
		Short:         a.t("Many MCP servers as one, in every protocol version", "将多个 MCP 服务合并为一个，支持所有协议版本"),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	flags := cmd.PersistentFlags()
	flags.StringVarP(&a.configPath, "mcp-config", "c", "", a.t("config file", "配置文件"))
	flags.StringVar(&a.configPath, "config", "", a.t("config file", "配置文件"))
	flags.BoolVar(&a.project, "project", false, a.t("use the file of the working tree", "使用工作目录中的配置文件"))
	flags.BoolVar(&a.insecure, "insecure-config", false, a.t("accept a config file that everybody may write", "接受任何人可写的配置文件"))
	flags.BoolVar(&a.asJSON, "json", false, a.t("write JSON", "输出 JSON"))
	cmd.AddCommand(a.httpCommand(), a.stdioCommand(), a.demoCommand(), a.versionCommand())
	return cmd
}
