package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

func completeCommand(a *app) *cobra.Command {
	var f probeFlags
	cmd := probeCommand(a, "complete TARGET PROMPT|TEMPLATE ARGUMENT=TYPED [NAME=VALUE ...]",
		a.t("ask a server to complete an argument", "请求服务补全参数"), &f,
		func(cmd *cobra.Command, args []string) error {
			m, err := parseTarget(a, cmd, &f, args)
			if err != nil {
				return err
			}
			ref, err := m.name(a, cmd, "PROMPT|TEMPLATE")
			if err != nil {
				return err
			}
			argument, err := m.name(a, cmd, "ARGUMENT=TYPED")
			if err != nil {
				return err
			}
			return once(cmd.Context(), a, &f, m, func(b *bout) error { return completeArgument(b, ref, argument, m.rest) })
		})
	cmd.Example = "  mcp-all-in-one complete summarize style=fo -- mcp-all-in-one demo\n  mcp-all-in-one complete 'demo://text/{id}' id=1 -- mcp-all-in-one demo"
	f.shared = true
	cmd.ValidArgsFunction = completeTarget(a, &f, 0, catalog.Prompts, catalog.Templates)
	f.addOutput(a, cmd.Flags(), formats)
	return cmd
}

func completeArgument(b *bout, ref, argument string, context []string) error {
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
	for _, key := range sortedKeys(others) {
		params = jsonrpc.Set(params, jsonrpc.Quote(others[key]), "context", "arguments", key)
	}
	x, err := b.send(mcp.MethodComplete, params)
	if err != nil {
		return err
	}
	if err := answered(b.app, x, b.aim); err != nil {
		return err
	}
	if b.flags.structured(b.app) {
		return printResult(b.app, &b.flags.outputFlags, x.Result, "")
	}
	for raw := range jsonrpc.Elements(jsonrpc.Get(x.Result, "completion", "values")) {
		var value string
		if json.Unmarshal(raw, &value) == nil {
			fmt.Fprintln(b.app.Stdout, value)
		}
	}
	return nil
}
