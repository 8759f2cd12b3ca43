package use

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

func ReadCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	var save string
	cmd := target.NewOnce(a, "read TARGET URI [NAME=VALUE ...]", a.T("read a resource", "读取资源"), &f,
		func(b *target.Connection, words []string) error { return readResource(b, words[0], words[1:], save) })
	cmd.Long = a.T("Reads a resource. The variables of a URI template are given as NAME=VALUE.", "读取资源。URI 模板的变量以 NAME=VALUE 给出。")
	cmd.Example = "  mcp-all-in-one read demo://clock -- mcp-all-in-one demo\n  mcp-all-in-one read 'demo://text/{id}' id=2 -- mcp-all-in-one demo"
	cmd.Flags().StringVar(&save, "save", "", a.T("write every block to `DIR`", "将每一块写入 `DIR`"))
	f.Shared = true
	cmd.ValidArgsFunction = target.CompleteTarget(a, &f, 0, catalog.Resources, catalog.Templates)
	f.AddOutput(a, cmd.Flags(), output.Formats)
	return cmd
}

func readResource(b *target.Connection, uri string, words []string, save string) error {
	values, err := textArguments(words)
	if err != nil {
		return badArguments(b, err)
	}
	if strings.Contains(uri, "{") {
		if uri, err = probe.ExpandTemplate(uri, values); err != nil {
			return badArguments(b, err)
		}
	}
	_, err = show(b, mcp.MethodResourcesRead, jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri"), save, target.Answered)
	return err
}

// show sends one request and prints its result. answered returns the error for
// an answer that is one.
func show(b *target.Connection, method string, params json.RawMessage, save string, answered func(*env.Env, *probe.Exchange, *target.Target) error) (*probe.Exchange, error) {
	x, err := b.Send(method, params)
	if err != nil {
		return nil, err
	}
	if err := answered(b.Env, x, b.To); err != nil {
		return nil, err
	}
	if err := output.PrintResult(b.Env, &b.Flags.Options, x.Result, save); err != nil {
		return nil, err
	}
	if b.Flags.WantsSummary(b.Env) {
		output.Summary(b.Env, b.Env.Stderr, x)
	}
	if x.IsToolError() {
		return nil, env.Silent(env.ExitTool)
	}
	return x, nil
}

// readInput reads a file, or standard input for -.
func readInput(a *env.Env, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.Stdin)
	}
	return os.ReadFile(name)
}

// textArguments parses NAME=VALUE words; NAME=@FILE is the text of a file.
func textArguments(words []string) (map[string]string, error) {
	raw, err := (&probe.ArgumentParser{Any: true}).Parse(nil, escapeDots(words))
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	for name, value := range jsonrpc.Members(raw) {
		text, ok := jsonrpc.GetString(raw, name)
		if !ok {
			text = string(value)
		}
		values[name] = text
	}
	return values, nil
}

// escapeDots escapes dots in names: arguments of prompts and templates are not
// nested.
func escapeDots(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if ok {
			word = strings.NewReplacer(`\`, `\\`, ".", `\.`, "[", `\[`).Replace(name) + "=" + value
		}
		out[i] = word
	}
	return out
}
