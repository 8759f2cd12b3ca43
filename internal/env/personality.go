package env

import (
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/config"
)

// A Personality is one of the programs that this binary can run as, with its
// commands, flags, files and ports.
type Personality struct {
	Name   string // the name in messages
	Config config.Personality
	Port   int
	Own    bool // mcp-all-in-one itself, which can also run as another program
	// Plain errors begin with "Error:" and end with exit code 1, as scripts
	// for the program expect.
	Plain   bool
	example string // a correct command, shown when the start fails
}

// Personalities returns the personalities by the names they are called by.
func Personalities() map[string]Personality {
	own := Personality{Name: "mcp-all-in-one", Config: config.MCPAllInOne, Port: 3095, Own: true}
	proxy := Personality{
		Name: "mcps-proxy", Config: config.MCPSProxy, Port: 3095, Plain: true,
		example: "mcps-proxy --stdio --schema=default --config ~/.mcps-proxy/config.json",
	}
	mcpx := Personality{Name: "mcpx", Config: config.MCPX, Port: 8000, Plain: true, example: "mcpx config.json"}
	sse := mcpx
	sse.example = "mcpx-sse config.json --port 8000"
	tester := Personality{Name: "mcp-tester", Config: config.MCPTester, Port: 3095}
	return map[string]Personality{
		"mcp-all-in-one": own,
		"mcps-proxy":     proxy, "mcps_proxy": proxy,
		"mcpx": mcpx, "mcpx-sse": sse,
		"mcp-tester": tester,
	}
}

// AddGlobalFlags adds the flags that every command has.
func AddGlobalFlags(a *Env, flags *pflag.FlagSet) {
	flags.StringVarP(&a.ConfigPath, "mcp-config", "c", "", a.T("config `FILE`", "配置文件 `FILE`"))
	flags.StringVar(&a.ConfigPath, "config", "", a.T("read this config `FILE`", "使用此配置文件 `FILE`"))
	flags.BoolVar(&a.Project, "project", false, a.T("use the config file of the project that this folder belongs to", "使用当前目录所属项目的配置文件"))
	flags.BoolVar(&a.Insecure, "allow-insecure-config", false, a.T("accept a config file that other users may write", "接受其他用户可写的配置文件"))
	flags.BoolFunc("json", a.T("write JSON", "输出 JSON"), a.SetJSON)
}
