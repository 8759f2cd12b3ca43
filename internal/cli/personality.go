package cli

import (
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// A personality is one of the programs that this binary is: its commands,
// flags, files and ports.
type personality struct {
	name   string // what it calls itself
	config config.Personality
	port   int
	own    bool // mcp-all-in-one itself, which may be asked to be another
	// plain errors begin with "Error:" and end with exit code 1, as scripts
	// for the program expect.
	plain   bool
	example string // a correct command, shown when the start fails
}

// personalities by the names that they are called by.
func personalities() map[string]personality {
	own := personality{name: "mcp-all-in-one", config: config.MCPAllInOne, port: 3095, own: true}
	proxy := personality{
		name: "mcps-proxy", config: config.MCPSProxy, port: 3095, plain: true,
		example: "mcps-proxy --stdio --schema=default --config ~/.mcps-proxy/config.json",
	}
	mcpx := personality{name: "mcpx", config: config.MCPX, port: 8000, plain: true, example: "mcpx config.json"}
	sse := mcpx
	sse.example = "mcpx-sse config.json --port 8000"
	tester := personality{name: "mcp-tester", config: config.MCPTester, port: 3095}
	return map[string]personality{
		"mcp-all-in-one": own,
		"mcps-proxy":     proxy, "mcps_proxy": proxy,
		"mcpx": mcpx, "mcpx-sse": sse,
		"mcp-tester": tester,
	}
}

// roots are the command trees of the personalities, by the names that they are
// called by.
func roots() map[string]func(*app) *cobra.Command {
	return map[string]func(*app) *cobra.Command{
		"mcp-all-in-one": mainRoot,
		"mcps-proxy":     proxyRoot, "mcps_proxy": proxyRoot,
		"mcpx": mcpxRoot, "mcpx-sse": mcpxSSERoot,
		"mcp-tester": testerRoot,
	}
}

// The groups of commands in the help.
const (
	groupRun    = "run"
	groupUse    = "use"
	groupManage = "manage"
	groupClient = "client"
	groupOther  = "other"
)

// addGlobalFlags adds the flags that every command has.
func addGlobalFlags(a *app, flags *pflag.FlagSet) {
	flags.StringVarP(&a.configPath, "mcp-config", "c", "", a.t("config `FILE`", "配置文件 `FILE`"))
	flags.StringVar(&a.configPath, "config", "", a.t("the same as --mcp-config (`FILE`)", "同 --mcp-config（`FILE`）"))
	flags.BoolVar(&a.project, "project", false, a.t("use the file of the working tree", "使用工作目录中的配置文件"))
	flags.BoolVar(&a.insecure, "allow-insecure-config", false, a.t("accept a config file that others may write", "接受其他用户可写的配置文件"))
	flags.BoolFunc("json", a.t("write JSON", "输出 JSON"), a.setJSON)
}

// mainRoot is the command tree of mcp-all-in-one.
func mainRoot(a *app) *cobra.Command {
	cmd := newRoot(a, "mcp-all-in-one", a.t("Many MCP servers as one, in every protocol version", "将多个 MCP 服务合并为一个，支持所有协议版本"))
	addGlobalFlags(a, cmd.PersistentFlags())
	addOldSpellings(a, cmd)
	for group, commands := range commands(a) {
		for _, c := range commands {
			c.GroupID = group
			cmd.AddCommand(c)
		}
	}
	return cmd
}

// commands are those of mcp-all-in-one, by the group that the help shows them
// in.
func commands(a *app) map[string][]*cobra.Command {
	return map[string][]*cobra.Command{
		groupUse: probeCommands(a),
		groupRun: {httpCommand(a), stdioCommand(a), demoCommand(a), uiCommand(a), statusCommand(a), costCommand(a)},
		groupManage: {
			addCommand(a), removeCommand(a), enableCommand(a, true), enableCommand(a, false), restartCommand(a), reloadCommand(a), approveCommand(a),
			configCommand(a), secretCommand(a), keyCommand(a), authCommand(a),
		},
		groupClient: {importCommand(a), connectCommand(a), disconnectCommand(a), exportCommand(a), runCommand(a)},
		groupOther:  {versionCommand(a), completionCommand(a), explainCommand(a), doctorCommand(a)},
	}
}

// setJSON is the flag --json.
func (a *app) setJSON(value string) error {
	on, err := strconv.ParseBool(value)
	if on {
		a.json()
	}
	return err
}

// json has everything written as JSON. What programs read is English, whatever
// the locale.
func (a *app) json() { a.asJSON, a.lang = true, i18n.English }
