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
	"mcp-all-in-one/internal/jsonrpc"
)

// A SelfConfig lets a client look after our configuration. It writes the real
// file; what it adds or changes there is started only after a person has
// approved it.
type SelfConfig struct {
	// Path is the file that is in use.
	Path string
	// Load is what a file is checked with.
	Load config.LoadOptions
	// Apply makes the running gateway read its file again.
	Apply func() error
	Log   *slog.Logger
}

// The tools by which a client looks after our configuration.
const (
	toolShow     = "mcp-all-in-one-show-mcp-config"
	toolValidate = "mcp-all-in-one-validate-mcp-config"
	toolSchema   = "mcp-all-in-one-show-mcp-config-schema"
	toolSet      = "mcp-all-in-one-set-mcp-config"
	toolAdd      = "mcp-all-in-one-add-mcp-server"
	toolRemove   = "mcp-all-in-one-remove-mcp-server"
)

// The arguments that several tools have.
const (
	argFile  = `"config-file":{"type":"string","description":"配置文件路径，可选，默认为当前使用的配置文件"}`
	argApply = `"apply":{"type":"boolean","description":"写入后立即生效，无需重启；新增或修改的服务须经用户批准后才会启动"}`
	argName  = `"name":{"type":"string","description":"服务名"},"schema":{"type":"string","description":"所属 schema，可选，默认为 default"}`
)

// Set returns the tools.
func (c *SelfConfig) Set() *Set {
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `}` + required + `}`
	}
	return NewSet([]Tool{
		c.tool(toolValidate, "验证mcp-all-in-one的MCP配置文件的正确性", object(argFile, ""), true, c.validate),
		c.tool(toolShow, "显示mcp-all-in-one的MCP配置文件内容", object(argFile, ""), true, c.show),
		c.tool(toolSchema, "显示mcp-all-in-one的MCP配置的JSON Schema", object("", ""), true, c.schema),
		c.tool(toolSet, "设置mcp-all-in-one的MCP配置，设置之前可以通过mcp-all-in-one-show-mcp-config-schema了解规则！",
			object(argFile+`,"config-content":{"type":"string","description":"新的配置内容（JSON字符串）"},`+argApply, `,"required":["config-content"]`), false, c.set),
		c.tool(toolAdd, "向mcp-all-in-one的MCP配置添加一个服务；须经用户批准后才会启动", object(argName+`,`+
			`"command":{"type":"string","description":"要启动的程序（stdio 服务）"},`+
			`"args":{"type":"array","items":{"type":"string"},"description":"程序的参数"},`+
			`"env":{"type":"object","additionalProperties":{"type":"string"},"description":"环境变量，可用 ${VAR}"},`+
			`"cwd":{"type":"string","description":"工作目录"},`+
			`"url":{"type":"string","description":"服务地址（HTTP 服务）"},`+
			`"headers":{"type":"object","additionalProperties":{"type":"string"},"description":"请求头，可用 ${VAR}"},`+
			`"type":{"type":"string","enum":["stdio","http","sse"]},`+
			`"replace":{"type":"boolean","description":"替换同名服务"},`+argFile+`,`+argApply, `,"required":["name"]`), false, c.add),
		c.tool(toolRemove, "从mcp-all-in-one的MCP配置移除一个服务", object(argName+`,`+argFile+`,`+argApply, `,"required":["name"]`), false, c.remove),
	})
}

// tool wraps a handler: what it returns is the text, what goes wrong is said
// the way the original did.
func (c *SelfConfig) tool(name, description, schema string, readOnly bool, run func(ctx context.Context, env *Env, args []byte) (any, error)) Tool {
	definition := fmt.Sprintf(`{"name":%q,"description":%s,"inputSchema":%s,"annotations":{"readOnlyHint":%t,"destructiveHint":%t,"openWorldHint":false}}`,
		name, jsonrpc.Quote(description), schema, readOnly, !readOnly)
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

// A missingError is an argument that was not given.
type missingError struct{ name string }

func (e *missingError) Error() string {
	return fmt.Sprintf("Invalid params: Missing required parameter '%s'", e.name)
}

var errFileArgument = errors.New("config-file parameter must be a string")

// file is the file that the arguments name: ours, and no other.
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
	content, err := config.Redact(data)
	if err != nil {
		return nil, err
	}
	return struct {
		Config json.RawMessage `json:"config"`
		Path   string          `json:"configPath"`
	}{content, path}, nil
}

// missingFile says it the way programs look for.
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
