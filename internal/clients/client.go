// Package clients reads, translates and edits the files in which Cursor,
// Claude, VS Code and other programs keep their MCP servers.
package clients

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/spelling"
)

// A Client is a program that keeps MCP servers in its own file.
type Client struct {
	ID, Name string
	// files are the possible paths of its file, the preferred one first. ~ is
	// the home directory, @ is the system's folder for program settings.
	files []string
	// project are the files that it reads in a working tree.
	project []string
	// variable names an environment variable with a directory that replaces the
	// directory of the first file. base is the file's name in it.
	variable, base string
	format         clientFormat
	key            string // the key that holds the servers
	list           bool   // the servers are a list of objects with a name
	// entry returns the client's entry for a command.
	entry func(command string, args []string) any
	// Remote returns the client's entry for a URL; nil if the client cannot use
	// URLs.
	Remote func(url string) any
}

// A clientFormat is the syntax of a client's file.
type clientFormat string

const (
	clientJSON clientFormat = "json" // comments and trailing commas are allowed
	clientTOML clientFormat = "toml"
	clientYAML clientFormat = "yaml"
)

// plainEntry returns the entry for a command that most clients use.
func plainEntry(command string, args []string) any {
	return struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{command, args}
}

func typedEntry(command string, args []string) any {
	return struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{"stdio", command, args}
}

// urlUnder returns a Remote function: key holds the URL, kind is the type if
// the client needs one.
func urlUnder(key, kind string) func(url string) any {
	return func(url string) any {
		entry := map[string]string{key: url}
		if kind != "" {
			entry["type"] = kind
		}
		return entry
	}
}

// All returns the clients whose files we know.
func All() []Client {
	return []Client{
		{ID: "claude-desktop", Name: "Claude Desktop", files: []string{"@/Claude/claude_desktop_config.json", "~/.config/claude/claude_desktop_config.json"}, key: "mcpServers", entry: plainEntry},
		{ID: "claude-code", Name: "Claude Code", files: []string{"~/.claude.json"}, variable: "CLAUDE_CONFIG_DIR", base: ".claude.json", project: []string{".mcp.json"}, key: "mcpServers", entry: typedEntry, Remote: urlUnder("url", "http")},
		{ID: "cursor", Name: "Cursor", files: []string{"~/.cursor/mcp.json"}, project: []string{".cursor/mcp.json"}, key: "mcpServers", entry: plainEntry, Remote: urlUnder("url", "")},
		{ID: "vscode", Name: "VS Code", files: []string{"@/Code/User/mcp.json", "@/Code - Insiders/User/mcp.json"}, project: []string{".vscode/mcp.json"}, key: "servers", entry: typedEntry, Remote: urlUnder("url", "http")},
		{ID: "copilot", Name: "Copilot CLI", files: []string{"~/.copilot/mcp-config.json"}, variable: "COPILOT_HOME", base: "mcp-config.json", project: []string{".mcp.json", ".github/mcp.json"}, key: "mcpServers", entry: copilotEntry, Remote: urlUnder("url", "http")},
		{ID: "windsurf", Name: "Windsurf", files: []string{"~/.codeium/windsurf/mcp_config.json"}, key: "mcpServers", entry: plainEntry, Remote: urlUnder("serverUrl", "")},
		{ID: "zed", Name: "Zed", files: []string{"~/.config/zed/settings.json", "@/Zed/settings.json"}, project: []string{".zed/settings.json"}, key: "context_servers", entry: plainEntry, Remote: urlUnder("url", "")},
		{ID: "codex", Name: "Codex", files: []string{"~/.codex/config.toml"}, variable: "CODEX_HOME", base: "config.toml", format: clientTOML, project: []string{".codex/config.toml"}, key: "mcp_servers", entry: plainEntry, Remote: urlUnder("url", "")},
		{ID: "gemini", Name: "Gemini CLI", files: []string{"~/.gemini/settings.json"}, project: []string{".gemini/settings.json"}, key: "mcpServers", entry: plainEntry, Remote: urlUnder("httpUrl", "")},
		{ID: "opencode", Name: "OpenCode", files: []string{"~/.config/opencode/opencode.jsonc", "~/.config/opencode/opencode.json"}, key: "mcp", entry: opencodeEntry, Remote: urlUnder("url", "remote")},
		{ID: "cline", Name: "Cline", files: []string{"@/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "@/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "~/Documents/Cline/MCP/cline_mcp_settings.json"}, key: "mcpServers", entry: plainEntry, Remote: urlUnder("url", "streamableHttp")},
		{ID: "lmstudio", Name: "LM Studio", files: []string{"~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json"}, key: "mcpServers", entry: plainEntry, Remote: urlUnder("url", "")},
		{ID: "kiro", Name: "Kiro", files: []string{"~/.kiro/settings/mcp.json"}, project: []string{".kiro/settings/mcp.json"}, key: "mcpServers", entry: plainEntry, Remote: urlUnder("url", "")},
		{ID: "goose", Name: "Goose", files: []string{"~/.config/goose/config.yaml", "@/Block/goose/config/config.yaml"}, format: clientYAML, key: "extensions", entry: gooseEntry},
		{ID: "continue", Name: "Continue", files: []string{"~/.continue/config.yaml"}, format: clientYAML, key: "mcpServers", list: true, entry: plainEntry},
		{ID: "crush", Name: "Crush", files: []string{"~/.config/crush/crush.json"}, project: []string{".crush.json"}, key: "mcp", entry: typedEntry, Remote: urlUnder("url", "http")},
	}
}

func copilotEntry(command string, args []string) any {
	return map[string]any{"type": "local", "command": command, "args": args, "tools": []string{"*"}}
}

func opencodeEntry(command string, args []string) any {
	return map[string]any{"type": "local", "command": append([]string{command}, args...)}
}

func gooseEntry(command string, args []string) any {
	return map[string]any{"type": "stdio", "name": OwnEntry, "cmd": command, "args": args, "enabled": true}
}

// OwnEntry is the name of our entry in the files of clients.
const OwnEntry = "mcp-all-in-one"

// Find returns the client with an id. The error for an unknown id suggests a
// similar one.
func Find(a *env.Env, id string) (*Client, error) {
	var ids []string
	for _, c := range All() {
		if c.ID == id {
			return &c, nil
		}
		ids = append(ids, c.ID)
	}
	hint := strings.Join(ids, ", ")
	near := slices.DeleteFunc(slices.Clone(ids), func(known string) bool { return !strings.HasPrefix(known, id+"-") })
	if len(near) == 0 {
		near = append(near, spelling.Nearest(id, ids))
	}
	if near[0] != "" {
		hint = a.T("did you mean ", "是否要用 ") + strings.Join(near, a.T(" or ", " 或 ")) + a.T("?", "？")
	}
	return nil, env.Fail(env.ExitUsage, env.CodeNoClient, hint, "%s %q", a.T("unknown client", "未知的客户端"), id)
}

// Paths returns the possible paths of the client's file on this machine.
func (c *Client) Paths(home string, getenv func(string) (string, bool)) []string {
	var list []string
	if dir, ok := getenv(c.variable); ok && dir != "" && c.variable != "" {
		list = append(list, filepath.Join(dir, c.base))
	}
	for _, f := range c.files {
		switch {
		case strings.HasPrefix(f, "~/"):
			f = filepath.Join(home, f[2:])
		case strings.HasPrefix(f, "@/"):
			f = filepath.Join(settingsDir(home, getenv), f[2:])
		}
		list = append(list, filepath.FromSlash(f))
	}
	return list
}

// settingsDir returns the system's folder for program settings.
func settingsDir(home string, getenv func(string) (string, bool)) string {
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support")
	case "windows":
		if dir, ok := getenv("APPDATA"); ok && dir != "" {
			return dir
		}
		return filepath.Join(home, "AppData", "Roaming")
	}
	if dir, ok := getenv("XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, ".config")
}

// FileOf returns the client's file: the first that exists, otherwise the path
// where it would be created.
func FileOf(a *env.Env, c *Client) (path string, exists bool) {
	paths := c.Paths(a.Home(), a.Getenv)
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return p, true
		}
	}
	return paths[0], false
}

// A foreign is a server in a client's file.
type foreign struct {
	Name string
	raw  json.RawMessage // as JSON
	dir  string          // folder of the file
	off  bool            // on the client's list of disabled servers
}

// Read lists the servers in a client's file.
func Read(a *env.Env, c *Client, path string) ([]foreign, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := Parse(data, c)
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeClientFile, "", "%v", unreadable(path, err))
	}
	for i := range list {
		list[i].dir = filepath.Dir(path)
	}
	return list, nil
}
