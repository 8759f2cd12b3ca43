package builtin

import (
	"context"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/jsonrpc"
)

// written is the result of the tools that write.
type written struct {
	Success         bool     `json:"success"`
	Path            string   `json:"configPath"`
	Backup          string   `json:"backupPath,omitempty"`
	RestartRequired bool     `json:"restartRequired"`
	RestartMessage  string   `json:"restartMessage,omitempty"`
	Applied         bool     `json:"applied,omitempty"`
	Pending         []string `json:"pending,omitempty"`
	PendingMessage  string   `json:"pendingMessage,omitempty"`
	ChangedMessage  string   `json:"changedMessage,omitempty"`
	Warnings        []place  `json:"warnings,omitempty"`
	Errors          []string `json:"errors"`
}

const (
	messageRestart = "MCP配置已更新。请重启mcp-all-in-one服务以应用新配置。"
	messageUpdated = "MCP配置文件已更新"
	messageKept    = "其中含有不对客户端显示的密钥的服务，只能在命令行或控制台批准。"
	messageChanged = "以下服务在显示给用户之后又被修改，因此没有批准，请重新查看：/ changed since they were shown, so they were not approved: "
	messagePending = "以下服务等待用户批准，批准前不会启动。请用户执行 mcp-all-in-one approve 服务名，或在控制台批准。"
)

func (c *SelfConfig) set(ctx context.Context, env *Env, args []byte) (any, error) {
	change, err := setEdit(args)
	if err != nil {
		return nil, err
	}
	apply, _ := flag(args, "apply")
	return c.write(ctx, env, args, apply, change)
}

// setEdit returns the change of the file that set makes.
func setEdit(args []byte) (func(*edit.Draft) error, error) {
	content, ok := jsonrpc.GetString(args, "config-content")
	if !ok {
		return nil, &missingError{"config-content"}
	}
	return func(d *edit.Draft) error { return d.Replace([]byte(content)) }, nil
}

func (c *SelfConfig) add(ctx context.Context, env *Env, args []byte) (any, error) {
	name, ok := jsonrpc.GetString(args, "name")
	if !ok || name == "" {
		return nil, &missingError{"name"}
	}
	entry := []byte(`{}`)
	for _, key := range []string{"type", "command", "args", "env", "cwd", "url", "headers"} {
		if v := jsonrpc.Get(args, key); v != nil {
			entry = jsonrpc.Set(entry, v, key)
		}
	}
	replace, _ := flag(args, "replace")
	return c.write(ctx, env, args, applyUnlessToldNot(args), func(d *edit.Draft) error {
		if d.Entry(schemaOf(args), name) != nil && !replace {
			return fmt.Errorf("服务 '%s' 已存在；如需修改请设置 replace", name)
		}
		return d.SetServer(schemaOf(args), name, entry)
	})
}

func (c *SelfConfig) remove(ctx context.Context, env *Env, args []byte) (any, error) {
	change, err := removeEdit(args)
	if err != nil {
		return nil, err
	}
	return c.write(ctx, env, args, applyUnlessToldNot(args), change)
}

// removeEdit returns the change of the file that remove makes.
func removeEdit(args []byte) (func(*edit.Draft) error, error) {
	name, ok := jsonrpc.GetString(args, "name")
	if !ok || name == "" {
		return nil, &missingError{"name"}
	}
	return func(d *edit.Draft) error { return d.RemoveServer(schemaOf(args), name) }, nil
}

// removing sets Removes, which returns the user's servers that a call would
// remove. A call that fails removes none; the tool itself reports the error.
func (t Tool) removing(c *SelfConfig, changes func(args []byte) (func(*edit.Draft) error, error)) Tool {
	t.Removes = func(args []byte) []string {
		path, err := c.file(args)
		if err != nil {
			return nil
		}
		change, err := changes(args)
		if err != nil {
			return nil
		}
		ids, err := edit.Removed(path, edit.WriteOptions{Load: c.Load, Pending: true}, change)
		if err != nil {
			return nil // the write fails the same way and removes nothing
		}
		return ids
	}
	return t
}

// write changes a file on behalf of a client. Every server that it adds or
// changes waits for approval.
func (c *SelfConfig) write(ctx context.Context, env *Env, args []byte, apply bool, change func(*edit.Draft) error) (any, error) {
	path, err := c.file(args)
	if err != nil {
		return nil, err
	}
	res, err := edit.Update(path, edit.WriteOptions{Load: c.Load, Pending: true, By: env.Principal, Agreed: env.Agreed}, change)
	if err != nil {
		c.Log.Warn("a client's change of the configuration was refused", "path", path, "err", err)
		return written{Path: path, Errors: sentences(err)}, nil
	}
	c.Log.Warn("a client changed the configuration", "path", path, "backup", res.Backup, "pending", res.Pending)
	out := written{
		Success: true, Path: path, Backup: res.Backup, RestartRequired: path == c.Path, Pending: res.Pending,
		Warnings: warnings(res.Config), Errors: []string{},
	}
	if apply && path == c.Path {
		var changed []string
		if out.Pending, changed = c.askApproval(ctx, env, res); len(changed) > 0 {
			out.ChangedMessage = messageChanged + strings.Join(changed, ", ")
		}
		if err := c.Apply(); err != nil {
			return nil, err
		}
		out.Applied, out.RestartRequired = true, false
	}
	out.RestartMessage = messageUpdated
	if out.RestartRequired {
		out.RestartMessage = messageRestart
	}
	if len(out.Pending) > 0 {
		out.PendingMessage = messagePending
	}
	if len(res.Kept) > 0 {
		out.PendingMessage += messageKept
	}
	return out, nil
}

func serverOf(cfg *config.Config, id string) *config.Server {
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			if s.ID() == id {
				return s
			}
		}
	}
	return nil
}

func schemaOf(args []byte) string {
	if schema, ok := jsonrpc.GetString(args, "schema"); ok && schema != "" {
		return schema
	}
	return config.DefaultSchema
}

// flag reads a boolean argument.
func flag(args []byte, name string) (value, given bool) {
	switch string(jsonrpc.Get(args, name)) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// applyUnlessToldNot is for the tools that the original programs did not have.
func applyUnlessToldNot(args []byte) bool {
	value, given := flag(args, "apply")
	return value || !given
}
