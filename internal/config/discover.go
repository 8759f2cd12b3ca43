package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
)

// A Personality is the program whose command line and files this program uses.
type Personality string

// The personalities.
const (
	MCPAllInOne Personality = "mcp-all-in-one"
	MCPSProxy   Personality = "mcps-proxy"
	MCPX        Personality = "mcpx"
	MCPTester   Personality = "mcp-tester"
)

func (p Personality) mode() string {
	if p == MCPX {
		return "compact"
	}
	return "full"
}

// creates reports whether the personality writes its config file if the file is
// missing.
func (p Personality) creates() bool { return p == MCPAllInOne || p == MCPSProxy }

// EnvConfig is the environment variable that names the config file.
const EnvConfig = "MCP_AIO_CONFIG"

// Found says which file is used, and why.
type Found struct {
	Path    string
	Source  string   // "flag", "environment", "project", "personality", "user", "system"
	Project bool     // the file is part of the working tree
	Created bool     // the file was missing and has just been written
	Skipped []string // files of the working tree that need Project
	Tried   []string // other paths that were tried
}

// Discover finds the config file. The first file found is used; files are never
// merged.
func Discover(o LoadOptions) (Found, error) {
	o = o.WithDefaults()
	if path := o.Path; path != "" {
		return o.named(path, "flag")
	}
	if path, ok := o.LookupEnv(EnvConfig); ok && path != "" && !o.Project {
		return o.named(path, "environment")
	}
	found := Found{Skipped: o.projectFiles()}
	if o.Project {
		if len(found.Skipped) == 0 {
			return found, notFound(projectNames(o.Personality), nil)
		}
		return Found{Path: found.Skipped[0], Source: "project", Project: true}, nil
	}
	for _, c := range o.candidates() {
		if _, err := os.Stat(c.Path); err == nil {
			c.Skipped, c.Tried = found.Skipped, found.Tried
			return c, nil
		}
		if filepath.Ext(c.Path) != ".toml" {
			found.Tried = append(found.Tried, c.Path)
		}
	}
	if !o.Create || !o.Personality.creates() || o.ownFile() == "" {
		return found, notFound(found.Tried, found.Skipped)
	}
	found.Path, found.Source = o.ownFile(), "personality"
	return o.create(found)
}

// named returns a file that a flag or a variable names. It is used even if it
// cannot be read, which is then an error.
func (o LoadOptions) named(path, source string) (Found, error) {
	path = disk.From(o.WorkDir, disk.ExpandHome(path, o.Home))
	found := Found{Path: filepath.Clean(path), Source: source, Project: o.Project}
	_, err := os.Stat(found.Path)
	if errors.Is(err, fs.ErrNotExist) && o.Create && o.Personality.creates() && !o.Project {
		if _, err := os.Lstat(found.Path); err != nil {
			return o.create(found)
		}
	}
	return found, nil // reading the file reports what is wrong with it
}

// notFound lists the paths that were tried, and the file of the working tree
// that was skipped.
func notFound(tried, skipped []string) error {
	e := problem.OfFile("", problem.NotFound)
	p := &e.Problems[0]
	p.Message += "; looked for " + strings.Join(tried, ", ")
	p.MessageZH += "；已查找 " + strings.Join(tried, "、")
	if folders.Home() == "" {
		p.Message += "; without HOME there is no user's file"
		p.MessageZH += "；未设置 HOME，因此没有用户文件"
	}
	if len(skipped) > 0 {
		p.Hint = "a file of the working tree is used only when it is named: --config " + skipped[0]
		p.HintZH = "工作目录中的文件只有在指定时才使用：--config " + skipped[0]
	}
	return e
}

// ownFile is the config file of the personality; "" without a home directory.
func (o LoadOptions) ownFile() string {
	if o.Home == "" {
		return ""
	}
	switch o.Personality {
	case MCPSProxy:
		return filepath.Join(o.Home, ".mcps-proxy", "config.json")
	case MCPX:
		return filepath.Join(o.Home, ".mcpx", "config.json")
	}
	return filepath.Join(folders.UserDir(o.Home), "mcp.json")
}

// candidates are the possible config files outside the working tree, in order.
func (o LoadOptions) candidates() []Found {
	var list []Found
	add := func(dir, source string, names ...string) {
		for _, name := range names {
			if dir != "" {
				list = append(list, Found{Path: filepath.Join(dir, name), Source: source})
			}
		}
	}
	if own := o.ownFile(); own != "" {
		add(filepath.Dir(own), "personality", filepath.Base(own))
	}
	add(o.places().Config(), "user", "config.yaml", "config.json")
	add(o.System, "system", "config.yaml", "config.json")
	add(o.places().Config(), "user", "config.toml") // not read, which its owner is told
	return list
}

// projectNames are the files of a working tree that Project looks for.
func projectNames(p Personality) []string {
	names := []string{
		".mcp-all-in-one.yaml", ".mcp-all-in-one.json", "mcp-all-in-one.yaml", "mcp-all-in-one.json",
		".mcp.json", "mcp.json", filepath.Join(".vscode", "mcp.json"), filepath.Join(".cursor", "mcp.json"),
	}
	if p == MCPX {
		return append([]string{"config.json"}, names...)
	}
	return names
}

// projectFiles returns the config files of the working tree, nearest first:
// those in the working directory, then those in its parents in the same
// repository.
func (o LoadOptions) projectFiles() []string {
	var files []string
	for _, dir := range WorkingTree(o.WorkDir) {
		for _, name := range projectNames(o.Personality) {
			if dir == o.Home && strings.HasPrefix(name, ".") && !o.Project {
				continue // in the home directory it is a client's file for all projects
			}
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				files = append(files, path)
			}
		}
	}
	return files
}

// WorkingTree returns dir and its parents up to the root of the repository, or
// only dir if there is no repository.
func WorkingTree(dir string) []string {
	var dirs []string
	for d := dir; ; d = filepath.Dir(d) {
		dirs = append(dirs, d)
		if _, err := os.Stat(filepath.Join(d, ".git")); err == nil {
			return dirs
		}
		if d == filepath.Dir(d) {
			return dirs[:1]
		}
	}
}

// defaultFile is the initial content of a missing config file.
func defaultFile(p Personality) []byte {
	if p == MCPSProxy {
		return []byte(`{
  "server": {
    "host": "127.0.0.1",
    "port": 3095
  },
  "schemas": {
    "default": {
      "enabled": true,
      "mcpServers": {}
    },
    "workspace": {
      "enabled": true,
      "mcpServers": {}
    },
    "tools": {
      "enabled": true,
      "mcpServers": {}
    }
  },
  "logging": {
    "level": "info"
  }
}
`)
	}
	return []byte("{\n  \"mcpServers\": {}\n}\n")
}

// create writes the first config file of a personality, and its directory. It
// keeps a file that another process has written in the meantime.
func (o LoadOptions) create(found Found) (Found, error) {
	if err := os.MkdirAll(filepath.Dir(found.Path), 0o700); err != nil {
		return found, i18n.Errorf("creating the config file: %w", "创建配置文件失败：%w", err)
	}
	unlock, err := disk.Lock(found.Path)
	if err != nil {
		return found, err
	}
	defer unlock()
	if _, err := os.Stat(found.Path); err == nil {
		return found, nil
	}
	if err := disk.Replace(disk.OS{}, found.Path, defaultFile(o.Personality), 0o600); err != nil {
		return found, err
	}
	found.Created = true
	return found, nil
}
