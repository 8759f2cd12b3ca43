package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
)

// ConnectFlags are the flags of connect.
type ConnectFlags struct {
	Schema, URL        string
	Print, DryRun, All bool
	StoreSecrets       bool
	Rename             map[string]string
	Ask                func(name string) (string, error) // as in ImportFlags
	Wait               time.Duration
}

func clientError(a *env.Env, path string, err error) error {
	return env.Fail(env.ExitFailure, env.CodeClientFile, "", "%v", unreadable(path, err))
}

// OwnEntryFor returns the client's entry for this gateway.
func OwnEntryFor(a *env.Env, c *Client, f ConnectFlags) (any, error) {
	if f.URL != "" {
		if c.Remote == nil {
			return nil, env.Fail(env.ExitUsage, env.CodeUsage, a.T("leave --url out", "请不要使用 --url"), "%s", a.T(c.Name+" cannot have a URL in its config file", c.Name+" 的配置文件不支持 URL"))
		}
		return c.Remote(f.URL), nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"stdio"}
	if a.ConfigPath != "" {
		found, err := config.Discover(a.LoadOptions(false))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(found.Path); errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(a.Stderr, a.T("warning: %s does not exist yet\n", "警告：%s 尚不存在\n"), found.Path)
		}
		args = append(args, "--mcp-config", found.Path)
	}
	if f.Schema != "" {
		args = append(args, "--schema", f.Schema)
	}
	return c.entry(exe, args), nil
}

// RawEntry returns an entry as the file has it, indented.
func RawEntry(a *env.Env, path, schema, name string) ([]byte, error) {
	var entry []byte
	_, err := edit.Update(path, a.WriteOptions(), func(d *edit.Draft) error {
		entry = d.Entry(schema, name)
		return env.ErrLookOnly
	})
	if err != nil && !errors.Is(err, env.ErrLookOnly) {
		return nil, err
	}
	pretty, err := json.MarshalIndent(json.RawMessage(entry), "", "  ")
	if err != nil {
		return entry, nil
	}
	return pretty, nil
}
