package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/jsonrpc"
)

// A SelfConfig lets a client manage our configuration. It writes the real file,
// but servers that it adds or changes are started only after the user has
// approved them.
type SelfConfig struct {
	// Path is the config file in use.
	Path string
	// Load are the options for checking a file.
	Load config.LoadOptions
	// Apply makes the running gateway reload its file.
	Apply func() error
	Log   *slog.Logger
}

// The tools with which a client manages our configuration.
const (
	toolShow     = "mcp-all-in-one-show-mcp-config"
	toolValidate = "mcp-all-in-one-validate-mcp-config"
	toolSchema   = "mcp-all-in-one-show-mcp-config-schema"
	toolSet      = "mcp-all-in-one-set-mcp-config"
	toolAdd      = "mcp-all-in-one-add-mcp-server"
	toolRemove   = "mcp-all-in-one-remove-mcp-server"
)

// The arguments that several tools share. They have no descriptions, because
// every client that sees the tools pays for each word. Two arguments are
// accepted but not listed: config-file may only name the file in use, and
// replace is mentioned in the error for a name that is taken.
const (
	text     = `{"type":"string"}`
	texts    = `{"type":"object"}`
	argApply = `"apply":{"type":"boolean"}`
	argName  = `"name":` + text + `,"schema":` + text
)

// Set returns the tools.
func (c *SelfConfig) Set() *Set {
	return NewSet([]Tool{
		c.tool(toolValidate, "验证配置文件", "", "", true, c.validate),
		c.tool(toolShow, "显示配置文件", "", "", true, c.show),
		c.tool(toolSchema, "显示配置规则", "", "", true, c.schema),
		c.tool(toolSet, "写入JSON配置", `"config-content":`+text+`,`+argApply, "config-content", false, c.set).removing(c, setEdit),
		c.tool(toolAdd, "添加服务，待批准", argName+`,"command":`+text+`,"args":{"type":"array","items":`+text+`},"env":`+texts+
			`,"cwd":`+text+`,"url":`+text+`,"headers":`+texts+`,"type":`+text+`,`+argApply, "name", false, c.add),
		c.tool(toolRemove, "移除服务", argName+`,`+argApply, "name", false, c.remove).removing(c, removeEdit),
	})
}

// tool wraps a handler: its result becomes text, and its errors are worded as
// in the original program.
func (c *SelfConfig) tool(name, description, properties, required string, readOnly bool, run func(ctx context.Context, env *Env, args []byte) (any, error)) Tool {
	// Some clients fail on a schema without properties.
	definition := fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s}`, name, description, properties)
	if required != "" {
		definition += `,"required":["` + required + `"]`
	}
	definition += `}`
	if readOnly { // clients treat a tool without the hint as destructive
		definition += `,"annotations":{"readOnlyHint":true}`
	}
	definition += `}`
	return Tool{Name: name, Definition: []byte(definition), Run: func(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
		v, err := run(ctx, env, args)
		var missing *missingError
		switch {
		case errors.As(err, &missing):
			return failure(map[string]any{"success": false, "error": err.Error(), "parameter": missing.name}), nil
		case err != nil:
			return plainFailure("工具调用失败: " + err.Error()), nil
		}
		return textResult(v), nil
	}}
}

func plainFailure(text string) *jsonrpc.Response {
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true}`, jsonrpc.Quote(text))}
}

// A missingError reports a missing argument.
type missingError struct{ name string }

func (e *missingError) Error() string {
	return fmt.Sprintf("Invalid params: Missing required parameter '%s'", e.name)
}

var errFileArgument = errors.New("config-file parameter must be a string")

// file returns the file that the arguments name. It refuses any file but ours.
func (c *SelfConfig) file(args []byte) (string, error) {
	raw := jsonrpc.Get(args, "config-file")
	if raw == nil {
		return c.Path, nil
	}
	path, ok := jsonrpc.GetString(args, "config-file")
	if !ok {
		return "", errFileArgument
	}
	return config.Confine(c.Path, path, c.Load)
}

func (c *SelfConfig) show(_ context.Context, _ *Env, args []byte) (any, error) {
	path, err := c.file(args)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, missingFile(path, err)
	}
	content, err := edit.Redact(data)
	if err != nil {
		return nil, err
	}
	return struct {
		Config json.RawMessage `json:"config"`
		Path   string          `json:"configPath"`
	}{content, path}, nil
}

// missingFile words the error as programs expect it.
func missingFile(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ENOENT: no such file or directory, open '%s'", path)
	}
	return err
}

func (c *SelfConfig) schema(context.Context, *Env, []byte) (any, error) {
	return struct {
		Schema  json.RawMessage `json:"schema"`
		Version string          `json:"schemaVersion"`
	}{config.JSONSchema(), config.SchemaVersion}, nil
}
