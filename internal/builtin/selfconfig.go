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

// The arguments that several tools have. Their names say what they are: every
// client that sees the tools pays for each word of them. Two are taken and not
// listed: config-file can name no file but the one in use, and replace is named
// by the error of a name that is taken.
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

// tool wraps a handler: what it returns is the text, what goes wrong is said
// the way the original did.
func (c *SelfConfig) tool(name, description, properties, required string, readOnly bool, run func(ctx context.Context, env *Env, args []byte) (any, error)) Tool {
	// Some clients fail over a schema without properties.
	definition := fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s}`, name, description, properties)
	if required != "" {
		definition += `,"required":["` + required + `"]`
	}
	definition += `}`
	if readOnly { // what does not say so may destroy
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
	content, err := edit.Redact(data)
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
