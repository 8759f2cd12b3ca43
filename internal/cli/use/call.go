// Package use implements the commands that use a server: list, call, read,
// shell, traffic and others.
package use

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
)

// CallFlags are the flags of call.
type CallFlags struct {
	target.Flags
	Args, save string
	NoValidate bool
}

func CallCommand(a *env.Env) *cobra.Command {
	var f CallFlags
	cmd := target.NewOnce(a, "call TARGET TOOL [NAME=VALUE ...]", a.T("call a tool", "调用工具"), &f.Flags,
		func(b *target.Connection, words []string) error { return callTool(b, &f, words[0], words[1:]) })
	cmd.Long = a.T("Calls a tool of any server. Arguments are typed by the tool's schema:\n"+
		"  name=text  name:=JSON  a.b[0]=text  name=@FILE  name:=@FILE",
		"调用任意服务器的工具。参数按工具的 schema 解析类型：\n  name=文本  name:=JSON  a.b[0]=文本  name=@文件  name:=@文件")
	cmd.Example = "  mcp-all-in-one call github search_issues query=bug per_page=5\n" +
		"  mcp-all-in-one github.search_issues query=bug --jq '.structuredContent.items[].title'\n" +
		"  mcp-all-in-one call add a=1 b=2 -- mcp-all-in-one demo\n" +
		"  mcp-all-in-one call get-sum a=1 b=2 -- npx -y @modelcontextprotocol/server-everything\n" +
		"  mcp-all-in-one call https://example.com/mcp echo --args @arguments.json"
	flags := cmd.Flags()
	flags.StringVar(&f.Args, "args", "", a.T("arguments as `JSON`, @FILE, or - for standard input", "以 `JSON`、@FILE 或 -（标准输入）给出参数"))
	flags.BoolVar(&f.NoValidate, "no-validate", false, a.T("send the arguments whatever the schema says", "不按 schema 校验，直接发送"))
	flags.StringVar(&f.save, "save", "", a.T("write every block of the result to `DIR`", "将结果的每一块写入 `DIR`"))
	f.Shared = true
	cmd.ValidArgsFunction = target.CompleteTarget(a, &f.Flags, 0, catalog.Tools)
	f.AddOutput(a, flags, output.Formats)
	return cmd
}

// callTool calls a tool and prints its result.
func callTool(b *target.Connection, f *CallFlags, name string, words []string) error {
	a := b.Env
	base, err := ArgumentsFrom(a, f.Args)
	if err != nil {
		return err
	}
	var tool *catalog.Item
	if !f.NoValidate {
		if tool, err = FindTool(b, name); err != nil {
			return err
		}
	}
	args, err := TypedArguments(b, tool, base, words)
	if err != nil {
		return err
	}
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(name), "name")
	params = jsonrpc.Set(params, args, "arguments")
	x, err := show(b, mcp.MethodToolsCall, params, f.save, target.Answered)
	if err != nil {
		return err
	}
	return checkToolOutput(b, tool, x)
}

// FindTool returns the definition of a tool. The error for an unknown tool
// suggests the nearest name.
func FindTool(b *target.Connection, name string) (*catalog.Item, error) {
	tools, err := b.List(b.Ctx, catalog.Tools)
	if err != nil {
		return nil, err
	}
	if tool := tools.Find(name); tool != nil {
		return tool, nil
	}
	return nil, unknownName(b, i18n.Errorf("the server has no tool %q", "服务器没有工具 %q", name), name, "tools", "工具", tools.Keys())
}

// unknownName adds to an error the names that the server has, and the nearest or the
// command that lists them.
func unknownName(b *target.Connection, err error, name, kind, kindZH string, known []string) error {
	a := b.Env
	e := &env.ExitError{Code: env.ExitTool, ID: env.CodeUnknownTool, Err: err, Details: []env.Detail{{Label: a.T("target", "目标"), Text: b.To.Label}}}
	if len(known) > 0 {
		e.Details = append(e.Details, env.Detail{Label: a.T(kind, kindZH), Text: shortList(known)})
	}
	if near := spelling.Nearest(name, known); near != "" {
		e.Hint = a.T("did you mean ", "是否要用 ") + near + a.T("?", "？")
	} else if b.To.Server != nil {
		e.Hint = a.AgainFor("list "+kind, b.To.Server)
	}
	return e
}

// shortList joins the first names of a list.
func shortList(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(", … (%d)", len(names))
}

// TypedArguments builds the arguments of a call from --args and the words of the
// command line. On a terminal it asks for missing arguments. tool is nil if
// nothing is to be checked.
func TypedArguments(b *target.Connection, tool *catalog.Item, base json.RawMessage, words []string) (json.RawMessage, error) {
	parser := &probe.ArgumentParser{Any: tool == nil}
	if tool != nil {
		parser.Schema = tool.InputSchema
	}
	args, err := parser.Parse(base, words)
	var wrong *probe.ArgumentError
	if errors.As(err, &wrong) && tool != nil {
		return nil, badArgumentsOf(b, tool, wrong.Argument, err)
	}
	if err != nil {
		return nil, badArguments(b, err)
	}
	if tool == nil {
		return args, nil
	}
	if env.IsTerminal(b.Env.Stdin) && env.IsTerminal(b.Env.Stderr) {
		if args, err = askMissing(b, tool, parser, args); err != nil {
			return nil, err
		}
	}
	if wrong := tool.Validate(args); len(wrong) > 0 {
		return nil, badArgumentsOf(b, tool, wrong[0].Argument, violations(tool, wrong))
	}
	return args, nil
}

func argumentNames(tool *catalog.Item) []string {
	var names []string
	for _, f := range probe.Form(tool.InputSchema) {
		names = append(names, f.Name)
	}
	return names
}

// badArgumentsOf returns the error for invalid arguments of a tool, of which
// argument is the first. It names the tool and its arguments, and says where
// the configuration decides the argument.
func badArgumentsOf(b *target.Connection, tool *catalog.Item, argument string, err error) error {
	known := argumentNames(tool)
	a, hint := b.Env, ""
	if s := b.To.Server; s != nil && !slices.Contains(known, argument) {
		for name, p := range s.Tools {
			if (name == tool.Key || p.Rename == tool.Key) && p.Arguments[argument].Ours() {
				err = i18n.Errorf("the gateway's configuration decides argument %q", "参数 %q 由网关的配置决定", argument)
				hint = a.T("leave it out", "请不要给出它")
			}
		}
	}
	e := badArguments(b, err)
	e.Hint = cmp.Or(hint, e.Hint)
	e.Details = []env.Detail{{Label: a.T("tool", "工具"), Text: tool.Key}}
	if len(known) > 0 {
		e.Details = append(e.Details, env.Detail{Label: a.T("takes", "参数"), Text: shortList(known)})
	}
	return e
}

// violations describes invalid arguments, one line each, and suggests the
// nearest name for an unknown argument.
func violations(tool *catalog.Item, wrong []jsonschema.Violation) error {
	known := argumentNames(tool)
	var lines []error
	for _, v := range wrong {
		line := i18n.Errorf("%v", "%v", v.Message)
		if near := spelling.Nearest(v.Argument, known); v.Unknown && near != "" {
			line = i18n.Errorf("%v; did you mean %q?", "%v；是否要用 %q？", v.Message, near)
		}
		lines = append(lines, line)
	}
	return errors.Join(lines...)
}

// badArguments returns the error for invalid arguments, before anything is
// sent.
func badArguments(b *target.Connection, err error) *env.ExitError {
	e := &env.ExitError{Code: env.ExitUsage, ID: env.CodeArgument, Err: err,
		Hint: b.Env.T("correct it, or add --no-validate to send it anyway", "请更正，或加 --no-validate 仍然发送")}
	if bad, ok := errors.AsType[*probe.ArgumentError](err); ok && bad.Form {
		e.Hint = b.Env.T(`name=text, name:=JSON, name=@FILE, or all of them as --args JSON`, `写作 name=文本、name:=JSON、name=@FILE，或用 --args JSON 给出全部`)
	}
	return e
}

func askMissing(b *target.Connection, tool *catalog.Item, parser *probe.ArgumentParser, args json.RawMessage) (json.RawMessage, error) {
	for _, field := range probe.Form(tool.InputSchema) {
		if !field.Required || jsonrpc.Get(args, field.Name) != nil {
			continue
		}
		word, err := target.AskField(b.Ctx, b.Env, field)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(b.Env.Stderr)
			return args, nil // missing arguments are reported together with other errors
		}
		if err != nil {
			return nil, err
		}
		if args, err = parser.Parse(args, []string{field.Name + "=" + word}); err != nil {
			return nil, badArguments(b, err)
		}
	}
	return args, nil
}

// ArgumentsFrom parses the value of --args.
func ArgumentsFrom(a *env.Env, text string) (json.RawMessage, error) {
	data := []byte(text)
	var err error
	switch name, isFile := strings.CutPrefix(text, "@"); {
	case text == "":
		return nil, nil
	case text == "-" || isFile:
		data, err = readInput(a, name)
	}
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeArgument, "", "--args: %v", err)
	}
	data = []byte(strings.TrimSpace(string(data)))
	if !jsonrpc.Valid(data) || data[0] != '{' {
		return nil, env.Fail(env.ExitUsage, env.CodeArgument, `--args '{"name":"value"}'`, "--args: %s", a.T("this is not a JSON object", "这不是 JSON 对象"))
	}
	return data, nil
}

// checkToolOutput checks a tool's result against its output schema.
func checkToolOutput(b *target.Connection, tool *catalog.Item, x *probe.Exchange) error {
	wrong, err := probe.CheckOutput(tool, x)
	if err != nil || len(wrong) == 0 {
		return nil // lint reports an invalid schema
	}
	return env.Fail(env.ExitInvalid, env.CodeOutput, b.Env.T("the server breaks its own output schema", "服务器违反了自己的输出 schema"),
		"structuredContent: %v", joined(wrong))
}

// joined joins texts to one line.
func joined(texts []i18n.Text) i18n.Text {
	line := texts[0]
	for _, t := range texts[1:] {
		line = i18n.New("%v; %v", "%v；%v", line, t)
	}
	return line
}
