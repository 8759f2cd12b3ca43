package use

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
)

func PromptCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	var noValidate bool
	cmd := target.NewOnce(a, "prompt TARGET PROMPT [NAME=VALUE ...]", a.T("get a prompt", "获取提示词"), &f,
		func(b *target.Connection, words []string) error { return getPrompt(b, words[0], words[1:], noValidate) })
	cmd.Example = "  mcp-all-in-one prompt greeting -- mcp-all-in-one demo\n  mcp-all-in-one prompt summarize text=@notes.txt style=formal -- mcp-all-in-one demo"
	cmd.Flags().BoolVar(&noValidate, "no-validate", false, a.T("send the arguments whatever the prompt declares", "不按声明校验，直接发送"))
	f.Shared = true
	cmd.ValidArgsFunction = target.CompleteTarget(a, &f, 0, catalog.Prompts)
	f.AddOutput(a, cmd.Flags(), output.Formats)
	return cmd
}

func getPrompt(b *target.Connection, name string, words []string, noValidate bool) error {
	values, err := textArguments(words)
	if err != nil {
		return badArguments(b, err)
	}
	if !noValidate {
		if err := checkPrompt(b, name, values); err != nil {
			return err
		}
	}
	_, err = show(b, mcp.MethodPromptsGet, probe.PromptParams(name, values), "", func(a *env.Env, x *probe.Exchange, m *target.Target) error {
		if x.Err == nil {
			return nil
		}
		e := target.Answered(a, x, m).(*env.ExitError)
		e.Err = i18n.Errorf("getting the prompt failed: %s", "获取提示词失败：%s", x.Err.Message)
		return e
	})
	return err
}

// checkPrompt returns an error before sending if a required argument is missing
// or an argument is not declared. On a terminal it asks for missing arguments.
func checkPrompt(b *target.Connection, name string, values map[string]string) error {
	a := b.Env
	prompts, err := b.List(b.Ctx, catalog.Prompts)
	if err != nil {
		return err
	}
	item := prompts.Find(name)
	if item == nil {
		return unknownName(b, i18n.Errorf("the server has no prompt %q", "服务器没有提示词 %q", name), name, "prompts", "提示词", prompts.Keys())
	}
	declared := probe.PromptArguments(item.Raw)
	var names []string
	ask := env.IsTerminal(a.Stdin) && env.IsTerminal(a.Stderr)
	for _, arg := range declared {
		names = append(names, arg.Name)
		if _, given := values[arg.Name]; !given && arg.Required && ask {
			word, err := target.AskField(b.Ctx, a, probe.Field{Name: arg.Name, Description: arg.Description, Required: true})
			if errors.Is(err, io.EOF) {
				fmt.Fprintln(a.Stderr)
				ask = false // missing arguments are reported below
				continue
			}
			if err != nil {
				return err
			}
			values[arg.Name] = word
		}
	}
	for _, given := range env.SortedKeys(values) {
		if !slices.Contains(names, given) {
			return badArguments(b, probe.UnknownArgument(given, spelling.Nearest(given, names)))
		}
	}
	if err := probe.CheckPrompt(declared, values); err != nil {
		return badArguments(b, err)
	}
	return nil
}
