package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
)

// callFlags are those of call.
type callFlags struct {
	probeFlags
	args, save string
	noValidate bool
}

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := a.probeCommand("call TARGET TOOL [NAME=VALUE ...]", a.t("call a tool", "调用工具"), &f.probeFlags,
		func(cmd *cobra.Command, args []string) error {
			m, err := a.aim(cmd, &f.probeFlags, args)
			if err != nil {
				return err
			}
			tool, err := m.name(a, cmd, "TOOL")
			if err != nil {
				return err
			}
			return a.once(cmd.Context(), &f.probeFlags, m, func(b *bout) error { return b.callTool(&f, tool, m.rest) })
		})
	cmd.Long = a.t("Call a tool of any server. Arguments are typed by the tool's schema:\n"+
		"  name=text  name:=JSON  a.b[0]=text  name=@FILE  name:=@FILE",
		"调用任意服务的工具。参数按工具的 schema 解析类型：\n  name=文本  name:=JSON  a.b[0]=文本  name=@文件  name:=@文件")
	cmd.Example = "  mcp-all-in-one call github search_issues query=bug per_page=5\n" +
		"  mcp-all-in-one github.search_issues query=bug --jq '.structuredContent.items[].title'\n" +
		"  mcp-all-in-one call add a=1 b=2 -- mcp-all-in-one demo\n" +
		"  mcp-all-in-one call get-sum a=1 b=2 -- npx -y @modelcontextprotocol/server-everything\n" +
		"  mcp-all-in-one call https://example.com/mcp echo --args @arguments.json"
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "", a.t("arguments as `JSON`, @FILE, or - for standard input", "以 `JSON`、@FILE 或 -（标准输入）给出参数"))
	flags.BoolVar(&f.noValidate, "no-validate", false, a.t("send the arguments whatever the schema says", "不按 schema 校验，直接发送"))
	flags.StringVar(&f.save, "save", "", a.t("write every block of the result to `DIR`", "将结果的每一块写入 `DIR`"))
	f.shared = true
	cmd.ValidArgsFunction = a.completeTarget(&f.probeFlags, 0, catalog.Tools)
	f.addOutput(a, flags, formats)
	return cmd
}

// callTool calls one tool and prints what it answers.
func (b *bout) callTool(f *callFlags, name string, words []string) error {
	a := b.app
	base, err := a.argumentsFrom(f.args)
	if err != nil {
		return err
	}
	var tool *catalog.Item
	if !f.noValidate {
		if tool, err = b.findTool(name); err != nil {
			return err
		}
	}
	args, err := b.arguments(tool, base, words)
	if err != nil {
		return err
	}
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(name), "name")
	params = jsonrpc.Set(params, args, "arguments")
	x, err := b.send(mcp.MethodToolsCall, params)
	if err != nil {
		return err
	}
	if err := a.answered(x, b.aim); err != nil {
		return err
	}
	if err := a.printResult(&f.probeFlags, x.Result, f.save); err != nil {
		return err
	}
	if f.wantsSummary(a) {
		a.summary(a.Stderr, x)
	}
	if x.IsToolError() {
		return silent(exitTool)
	}
	return b.checkOutput(tool, x)
}

// findTool returns the definition of a tool; one that does not exist is an
// error with the nearest that does.
func (b *bout) findTool(name string) (*catalog.Item, error) {
	tools, err := b.List(b.ctx, catalog.Tools)
	if err != nil {
		return nil, err
	}
	if tool := tools.Find(name); tool != nil {
		return tool, nil
	}
	a := b.app
	e := &exitError{code: exitTool, id: codeUnknownTool, err: i18n.Errorf("the server has no tool %q", "服务没有工具 %q", name)}
	e.details = []detail{{a.t("target", "目标"), b.aim.label}}
	if len(tools.Items) > 0 {
		e.details = append(e.details, detail{a.t("tools", "工具"), shortList(tools.Keys())})
	}
	if near := spelling.Nearest(name, tools.Keys()); near != "" {
		e.hint = a.t("did you mean ", "是否要用 ") + near + a.t("?", "？")
	}
	return nil, e
}

// shortList names a few.
func shortList(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(", … (%d)", len(names))
}

// arguments makes the arguments of a call: what --args gave, the words of the
// command line, and on a terminal what is still missing. tool is nil where
// nothing is to be checked.
func (b *bout) arguments(tool *catalog.Item, base json.RawMessage, words []string) (json.RawMessage, error) {
	parser := &probe.ArgumentParser{Any: tool == nil}
	if tool != nil {
		parser.Schema = tool.InputSchema
	}
	args, err := parser.Parse(base, words)
	if err != nil {
		return nil, b.badArguments(err)
	}
	if tool == nil {
		return args, nil
	}
	if isTerminal(b.app.Stdin) && isTerminal(b.app.Stderr) {
		if args, err = b.askMissing(tool, parser, args); err != nil {
			return nil, err
		}
	}
	if wrong := tool.Validate(args); len(wrong) > 0 {
		return nil, b.badArguments(violations(tool, wrong))
	}
	return args, nil
}

// violations names what is wrong with arguments, a line each, with the nearest
// right name for an unknown one.
func violations(tool *catalog.Item, wrong []jsonschema.Violation) error {
	var known []string
	for _, f := range probe.Form(tool.InputSchema) {
		known = append(known, f.Name)
	}
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

// badArguments is what is wrong with the arguments, before anything was sent.
func (b *bout) badArguments(err error) error {
	return &exitError{code: exitUsage, id: codeArgument, err: err,
		hint: b.app.t("correct it, or add --no-validate to send it anyway", "请更正，或加 --no-validate 仍然发送")}
}

func (b *bout) askMissing(tool *catalog.Item, parser *probe.ArgumentParser, args json.RawMessage) (json.RawMessage, error) {
	for _, field := range probe.Form(tool.InputSchema) {
		if !field.Required || jsonrpc.Get(args, field.Name) != nil {
			continue
		}
		word, err := b.app.askField(b.ctx, field)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(b.app.Stderr)
			return args, nil // what is missing is said with everything else that is wrong
		}
		if err != nil {
			return nil, err
		}
		if args, err = parser.Parse(args, []string{field.Name + "=" + word}); err != nil {
			return nil, b.badArguments(err)
		}
	}
	return args, nil
}

// argumentsFrom reads --args.
func (a *app) argumentsFrom(text string) (json.RawMessage, error) {
	var data []byte
	var err error
	switch name, isFile := strings.CutPrefix(text, "@"); {
	case text == "":
		return nil, nil
	case text == "-":
		data, err = io.ReadAll(a.Stdin)
	case isFile:
		data, err = os.ReadFile(name)
	default:
		data = []byte(text)
	}
	if err != nil {
		return nil, fail(exitUsage, codeArgument, "", "--args: %v", err)
	}
	data = []byte(strings.TrimSpace(string(data)))
	if !jsonrpc.Valid(data) || data[0] != '{' {
		return nil, fail(exitUsage, codeArgument, `--args '{"name":"value"}'`, "--args: %s", a.t("this is not a JSON object", "这不是 JSON 对象"))
	}
	return data, nil
}

// checkOutput holds a tool's answer against its own output schema.
func (b *bout) checkOutput(tool *catalog.Item, x *probe.Exchange) error {
	wrong, err := probe.CheckOutput(tool, x)
	if err != nil || len(wrong) == 0 {
		return nil // a schema that cannot be used is for lint to tell
	}
	return fail(exitInvalid, codeOutput, b.app.t("the server breaks its own output schema", "服务违反了自己的输出 schema"),
		"structuredContent: %v", joined(wrong))
}

// joined is several texts in one line.
func joined(texts []i18n.Text) i18n.Text {
	line := texts[0]
	for _, t := range texts[1:] {
		line = i18n.New("%v; %v", "%v；%v", line, t)
	}
	return line
}
