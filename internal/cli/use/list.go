package use

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/signature"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
)

func ListCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	var wide bool
	cmd := target.NewCommand(a, "list [servers|clients] | list [tools|resources|templates|prompts] TARGET [NAME]", a.T("list the servers, or what one of them offers", "列出服务器，或某个服务器提供的内容"), &f,
		func(cmd *cobra.Command, args []string) error { return runList(a, cmd, &f, wide, args) })
	cmd.Aliases = []string{"ls"}
	cmd.Example = "  mcp-all-in-one list\n  mcp-all-in-one list tools github\n  mcp-all-in-one list github search_issues\n" +
		"  mcp-all-in-one list . --json\n  mcp-all-in-one list prompts -- npx -y @modelcontextprotocol/server-everything"
	cmd.Flags().BoolVar(&wide, "wide", false, a.T("show whole descriptions and schemas", "显示完整描述与 schema"))
	f.Shared = true
	cmd.ValidArgsFunction = target.CompleteList(a, &f)
	f.AddOutput(a, cmd.Flags(), output.ListFormats)
	return cmd
}

func runList(a *env.Env, cmd *cobra.Command, f *target.Flags, wide bool, args []string) error {
	kinds := output.AllKinds
	dash := cmd.ArgsLenAtDash()
	take := func(list []string) []string {
		for i, word := range list {
			if k, ok := output.KindWords[word]; ok && (dash < 0 || i < dash) {
				kinds = []catalog.Kind{k}
				return slices.Delete(slices.Clone(list), i, i+1)
			}
		}
		return list
	}
	var m *target.Target
	var err error
	if dash >= 0 {
		m, err = target.TargetCommand(a, f, args[dash:], take(args[:dash]))
	} else if args = take(args); len(args) == 0 && len(kinds) == 1 {
		return target.Missing(a, cmd)
	} else if len(args) == 0 || len(args) == 1 && args[0] == "servers" {
		return listServers(cmd.Context(), a, f)
	} else if len(args) == 1 && args[0] == "clients" {
		return listClients(a, cmd)
	} else {
		m, err = target.TargetWord(cmd.Context(), a, f, args[0], args[1:])
	}
	if err != nil {
		return otherList(a, cmd, args, err)
	}
	name := ""
	if len(m.Rest) > 0 {
		name = m.Rest[0]
	}
	return target.Once(cmd.Context(), a, f, m, func(b *target.Connection) error { return listFeatures(b, kinds, name, wide || f.Output == "wide") })
}

// otherList suggests the list that was probably meant if its name was taken for
// the name of a server.
func otherList(a *env.Env, cmd *cobra.Command, args []string, err error) error {
	e, ok := errors.AsType[*env.ExitError](err)
	if !ok || e.ID != env.CodeNoServer || len(args) < 2 {
		return err
	}
	if near := spelling.Nearest(args[0], env.SortedKeys(output.KindWords)); near != "" {
		e.Hint = a.T("did you mean: ", "是否要用：") + cmd.CommandPath() + " " + near + " " + args[1]
	}
	return e
}

// listFeatures prints the lists of a server.
func listFeatures(b *target.Connection, kinds []catalog.Kind, name string, wide bool) error {
	a := b.Env
	all := make(map[string][]json.RawMessage)
	found := false
	for _, k := range kinds {
		if len(kinds) > 1 && !b.Offers(k) {
			continue
		}
		l, err := b.WholeList(k)
		if err != nil {
			return err
		}
		if name != "" {
			item := l.Find(name)
			if item == nil {
				continue
			}
			found = true
			l.Items, l.Raw = []catalog.Item{*item}, []json.RawMessage{item.Raw}
		}
		if b.Flags.Structured(a) {
			all[k.Member()] = append([]json.RawMessage{}, l.Raw...)
			continue
		}
		if output.PrintListAs(a, b.Flags.Output, l) {
			continue
		}
		printListing(a, l, wide || name != "", len(kinds) > 1)
	}
	if err := b.SayMissing(); err != nil {
		return err
	}
	if name != "" && !found {
		return env.Fail(env.ExitTool, env.CodeUnknownTool, "", "%s %q", a.T("the server offers nothing called", "服务器没有提供"), name)
	}
	if b.Flags.Structured(a) {
		raw, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return output.PrintResult(a, &b.Flags.Options, raw, "")
	}
	return nil
}

// printListing prints a list: as signatures on a terminal, as tab-separated
// columns in a pipe.
func printListing(a *env.Env, l *probe.Listing, wide, titled bool) {
	if titled && env.IsTerminal(a.Stdout) {
		fmt.Fprintf(a.Stdout, "%s (%d)\n", probe.KindWord(l.Kind), len(l.Items))
	}
	for i := range l.Items {
		it := &l.Items[i]
		first := output.ItemSignature(l.Kind, it)
		about := it.Description
		if !wide {
			about, _, _ = strings.Cut(about, "\n")
		}
		switch {
		case !env.IsTerminal(a.Stdout) && !wide:
			fmt.Fprintf(a.Stdout, "%s\t%s\n", first, about)
		default:
			fmt.Fprintf(a.Stdout, "%s\n", first)
			if about != "" {
				fmt.Fprintf(a.Stdout, "    %s\n", strings.ReplaceAll(about, "\n", "\n    "))
			}
		}
		if wide {
			printSchemas(a, l.Kind, it)
		}
	}
}

func printSchemas(a *env.Env, k catalog.Kind, it *catalog.Item) {
	if k != catalog.Tools {
		fmt.Fprintf(a.Stdout, "    %s\n", jsonrpc.Compact(nil, it.Raw))
		return
	}
	for _, s := range []struct {
		label  string
		schema []byte
	}{{a.T("input", "输入"), it.InputSchema}, {a.T("output", "输出"), it.OutputSchema}} {
		if len(s.schema) == 0 {
			continue
		}
		text, ok := signature.Of(s.schema)
		if !ok {
			text = string(jsonrpc.Compact(nil, s.schema))
		}
		fmt.Fprintf(a.Stdout, "    %s: %s\n", s.label, strings.ReplaceAll(text, "\n", "\n    "))
	}
}
