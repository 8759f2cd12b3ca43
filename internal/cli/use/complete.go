package use

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

func CompleteCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	cmd := target.NewOnce(a, "complete TARGET PROMPT|TEMPLATE ARGUMENT=TYPED [NAME=VALUE ...]",
		a.T("ask a server to complete an argument", "请求服务器补全参数"), &f,
		func(b *target.Connection, words []string) error {
			return completeArgument(b, words[0], words[1], words[2:])
		})
	cmd.Example = "  mcp-all-in-one complete summarize style=fo -- mcp-all-in-one demo\n  mcp-all-in-one complete 'demo://text/{id}' id=1 -- mcp-all-in-one demo"
	f.Shared = true
	cmd.ValidArgsFunction = target.CompleteTarget(a, &f, 0, catalog.Prompts, catalog.Templates)
	f.AddOutput(a, cmd.Flags(), output.Formats)
	return cmd
}

func completeArgument(b *target.Connection, ref, argument string, context []string) error {
	name, typed, _ := strings.Cut(argument, "=")
	refJSON := jsonrpc.Set([]byte(`{"type":"ref/prompt"}`), jsonrpc.Quote(ref), "name")
	if strings.Contains(ref, "://") || strings.Contains(ref, "{") {
		refJSON = jsonrpc.Set([]byte(`{"type":"ref/resource"}`), jsonrpc.Quote(ref), "uri")
	}
	params := jsonrpc.Set([]byte(`{}`), refJSON, "ref")
	params = jsonrpc.Set(params, jsonrpc.Quote(name), "argument", "name")
	params = jsonrpc.Set(params, jsonrpc.Quote(typed), "argument", "value")
	others, err := textArguments(context)
	if err != nil {
		return badArguments(b, err)
	}
	for _, key := range env.SortedKeys(others) {
		params = jsonrpc.Set(params, jsonrpc.Quote(others[key]), "context", "arguments", key)
	}
	x, err := b.Ask(mcp.MethodComplete, params)
	if err != nil {
		return err
	}
	if b.Flags.Structured(b.Env) {
		return output.PrintResult(b.Env, &b.Flags.Options, x.Result, "")
	}
	for raw := range jsonrpc.Elements(jsonrpc.Get(x.Result, "completion", "values")) {
		var value string
		if json.Unmarshal(raw, &value) == nil {
			fmt.Fprintln(b.Env.Stdout, value)
		}
	}
	return nil
}
