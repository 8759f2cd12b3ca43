package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/stdio/lines"
)

// StandardStream returns the stream over standard input and output.
func StandardStream(a *env.Env, cfg *config.Config) jsonrpc.Stream {
	return stdio.Serve(a.Stdin, env.Stream(a.Stdout), lines.StreamOptions{MaxLine: cfg.Limits.ClientMessage, Delimiter: delimiter(a, cfg)})
}

// delimiter returns the byte that ends a message. The protocol fixes it, but
// mcps-proxy lets its users choose.
func delimiter(a *env.Env, cfg *config.Config) byte {
	if d := cfg.CLI.Stdio.Delimiter; len(d) == 1 && a.Personality.Config == config.MCPSProxy {
		return d[0]
	}
	return '\n'
}

// stdioWelcome prints a welcome to standard error, because standard output
// carries the protocol.
func stdioWelcome(a *env.Env, cfg *config.Config, f *ServeFlags, schema string) {
	if a.Personality.Config == config.MCPSProxy {
		proxyBanner(a, schema)
		return
	}
	fmt.Fprintf(a.Stderr, "%s %s, stdio, schema %s, %s\n", a.Personality.Name, mcp.ProductVersion, schema, cfg.Path)
	fmt.Fprintf(a.Stderr, "%s\n%s\n", a.T("client configuration:", "客户端配置："), snippet(a, cfg, f, schema))
	if env.IsTerminal(a.Stdin) {
		fmt.Fprintln(a.Stderr, a.T(
			"Standard input is a terminal. A client starts this command and writes one JSON-RPC message per line;\n"+
				"type one to try it, ^D ends. For the help: mcp-all-in-one stdio --help",
			"标准输入是终端。通常由客户端启动本命令，并逐行写入 JSON-RPC 消息；\n可以直接输入一行试试，^D 结束。帮助：mcp-all-in-one stdio --help"))
	}
}

// snippet returns the configuration with which a client starts the gateway, with the
// flags that restrict it.
func snippet(a *env.Env, cfg *config.Config, f *ServeFlags, schema string) []byte {
	exe, err := os.Executable()
	if err != nil {
		exe = a.Args[0]
	}
	args := []string{"stdio", "--mcp-config", cfg.Path}
	if a.Personality.Config == config.MCPX {
		args = []string{"mcpx", cfg.Path}
	}
	if schema != config.DefaultSchema && a.Personality.Own {
		args = append(args, "--schema", schema)
	}
	if f.Locked && a.Personality.Own {
		args = append(args, "--locked")
	}
	if f.NoSelfConfig && a.Personality.Own {
		args = append(args, "--no-self-config")
	}
	raw, err := json.MarshalIndent(map[string]any{
		"mcpServers": map[string]any{a.Personality.Name: map[string]any{"command": exe, "args": args}},
	}, "", "  ")
	if err != nil {
		return nil // maps of strings cannot fail
	}
	return raw
}

// A framingHint warns once if a client frames its messages like a language
// server.
type framingHint struct {
	env  *env.Env
	once sync.Once
}

func (h *framingHint) see(head []byte) {
	if len(head) < 15 || !bytes.EqualFold(head[:15], []byte("Content-Length:")) {
		return
	}
	h.once.Do(func() {
		fmt.Fprintln(h.env.Stderr, h.env.T("hint: MCP has no Content-Length headers; send one JSON message per line",
			"提示：MCP 不使用 Content-Length 头；请每行发送一条 JSON 消息"))
	})
}

// proxyBanner prints the schema and how to use it to standard error, because
// standard output carries the protocol.
func proxyBanner(a *env.Env, schema string) {
	fmt.Fprintf(a.Stderr, "%s %s\n", a.Personality.Name, mcp.ProductVersion)
	fmt.Fprintf(a.Stderr, "%s: STDIO\n", a.T("mode", "模式"))
	fmt.Fprintf(a.Stderr, "schema: %s\n", schema)
	fmt.Fprintln(a.Stderr, a.T("write one JSON-RPC message per line to standard input; answers come on standard output",
		"向标准输入逐行写入 JSON-RPC 消息，应答输出到标准输出"))
	fmt.Fprintln(a.Stderr, a.T("JSON-RPC 2.0 ready", "JSON-RPC 2.0 已就绪"))
}
