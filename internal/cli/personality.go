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
	Name   string // what it calls itself
	Config config.Personality
	Port   int
	Own    bool // mcp-all-in-one itself, which may be asked to be another
	// Plain errors begin with "Error:" and end with exit code 1, as scripts
	// for the program expect.
	Plain   bool
	example string // a correct command, shown when the start fails
}

// Personalities by the names that they are called by.
func Personalities() map[string]personality {
	own := personality{Name: "mcp-all-in-one", Config: config.MCPAllInOne, Port: 3095, Own: true}
	proxy := personality{
		Name: "mcps-proxy", Config: config.MCPSProxy, Port: 3095, Plain: true,
		example: "mcps-proxy --stdio --schema=default --config ~/.mcps-proxy/config.json",
	}
	mcpx := personality{Name: "mcpx", Config: config.MCPX, Port: 8000, Plain: true, example: "mcpx config.json"}
	sse := mcpx
	sse.example = "mcpx-sse config.json --port 8000"
	tester := personality{Name: "mcp-tester", Config: config.MCPTester, Port: 3095}
	return map[string]personality{
		"mcp-all-in-one": own,
		"mcps-proxy":     proxy, "mcps_proxy": proxy,
		"mcpx": mcpx, "mcpx-sse": sse,
		"mcp-tester": tester,
	}
}

// roots are the command trees of the personalities, by the names that they are
// called by.
func roots() map[string]func(*Env) *cobra.Command {
	return map[string]func(*Env) *cobra.Command{
		"mcp-all-in-one": mainRoot,
		"mcps-proxy":     ProxyRoot, "mcps_proxy": ProxyRoot,
		"mcpx": MCPXRoot, "mcpx-sse": McpxSSERoot,
		"mcp-tester": TesterRoot,
	}
}

// The groups of commands in the help.
const (
	GroupRun    = "run"
	GroupUse    = "use"
	GroupManage = "manage"
	GroupClient = "client"
	GroupOther  = "other"
)

// AddGlobalFlags adds the flags that every command has.
func AddGlobalFlags(a *Env, flags *pflag.FlagSet) {
	flags.StringVarP(&a.ConfigPath, "mcp-config", "c", "", a.T("config `FILE`", "配置文件 `FILE`"))
	flags.StringVar(&a.ConfigPath, "config", "", a.T("the same as --mcp-config (`FILE`)", "同 --mcp-config（`FILE`）"))
	flags.BoolVar(&a.Project, "project", false, a.T("use the file of the working tree", "使用工作目录中的配置文件"))
	flags.BoolVar(&a.Insecure, "allow-insecure-config", false, a.T("accept a config file that others may write", "接受其他用户可写的配置文件"))
	flags.BoolFunc("json", a.T("write JSON", "输出 JSON"), a.SetJSON)
}

// mainRoot is the command tree of mcp-all-in-one.
func mainRoot(a *Env) *cobra.Command {
	cmd := NewRoot(a, "mcp-all-in-one", a.T("Many MCP servers as one, in every protocol version", "将多个 MCP 服务合并为一个，支持所有协议版本"))
	AddGlobalFlags(a, cmd.PersistentFlags())
	AddOldSpellings(a, cmd)
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
func commands(a *Env) map[string][]*cobra.Command {
	return map[string][]*cobra.Command{
		GroupUse: ProbeCommands(a),
		GroupRun: {HTTPCommand(a), StdioCommand(a), DemoCommand(a), UICommand(a), StatusCommand(a), CostCommand(a)},
		GroupManage: {
			AddCommand(a), RemoveCommand(a), EnableCommand(a, true), EnableCommand(a, false), RestartCommand(a), ReloadCommand(a), ApproveCommand(a),
			ConfigCommand(a), SecretCommand(a), KeyCommand(a), AuthCommand(a),
		},
		GroupClient: {ImportCommand(a), ConnectCommand(a), DisconnectCommand(a), ExportCommand(a), RunCommand(a)},
		GroupOther:  {VersionCommand(a), CompletionCommand(a), ExplainCommand(a), DoctorCommand(a)},
	}
}

// SetJSON is the flag --json.
func (a *Env) SetJSON(value string) error {
	on, err := strconv.ParseBool(value)
	if on {
		a.UseJSON()
	}
	return err
}

// UseJSON has everything written as JSON. What programs read is English, whatever
// the locale.
func (a *Env) UseJSON() { a.JSON, a.Lang = true, i18n.English }
