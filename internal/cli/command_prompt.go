package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
)

func (a *app) promptCommand() *cobra.Command {
	var f probeFlags
	var noValidate bool
	cmd := a.probeCommand("prompt TARGET PROMPT [NAME=VALUE ...]", a.t("get a prompt", "获取提示词"), &f,
		func(cmd *cobra.Command, args []string) error {
			m, err := a.aim(cmd, &f, args)
			if err != nil {
				return err
			}
			name, err := m.name(a, cmd, "PROMPT")
			if err != nil {
				return err
			}
			return a.once(cmd.Context(), &f, m, func(b *bout) error { return b.prompt(name, m.rest, noValidate) })
		})
	cmd.Example = "  mcp-all-in-one prompt greeting -- mcp-all-in-one demo\n  mcp-all-in-one prompt summarize text=@notes.txt style=formal -- mcp-all-in-one demo"
	cmd.Flags().BoolVar(&noValidate, "no-validate", false, a.t("send the arguments whatever the prompt declares", "不按声明校验，直接发送"))
	f.shared = true
	cmd.ValidArgsFunction = a.completeTarget(&f, 0, catalog.Prompts)
	f.addOutput(a, cmd.Flags(), formats)
	return cmd
}

func (b *bout) prompt(name string, words []string, noValidate bool) error {
	a := b.app
	values, err := textArguments(words)
	if err != nil {
		return b.badArguments(err)
	}
	if !noValidate {
		if err := b.checkPrompt(name, values); err != nil {
			return err
		}
	}
	return b.show(mcp.MethodPromptsGet, probe.PromptParams(name, values), "", func(x *probe.Exchange, m *aim) error {
		if x.Err == nil {
			return nil
		}
		e := a.answered(x, m).(*exitError)
		e.err = i18n.Errorf("getting the prompt failed: %s", "获取提示词失败：%s", x.Err.Message)
		return e
	})
}

// checkPrompt stops before sending when a required argument is missing, or one
// is not declared; on a terminal what is missing is asked for.
func (b *bout) checkPrompt(name string, values map[string]string) error {
	a := b.app
	prompts, err := b.List(b.ctx, catalog.Prompts)
	if err != nil {
		return err
	}
	item := prompts.Find(name)
	if item == nil {
		hint := ""
		if near := spelling.Nearest(name, prompts.Keys()); near != "" {
			hint = a.t("did you mean ", "是否要用 ") + near + a.t("?", "？")
		}
		return fail(exitTool, codeUnknownTool, hint, "%s %q", a.t("the server has no prompt", "服务没有提示词"), name)
	}
	declared := probe.PromptArguments(item.Raw)
	var names []string
	ask := isTerminal(a.Stdin) && isTerminal(a.Stderr)
	for _, arg := range declared {
		names = append(names, arg.Name)
		if _, given := values[arg.Name]; !given && arg.Required && ask {
			word, err := a.askField(b.ctx, probe.Field{Name: arg.Name, Description: arg.Description, Required: true})
			if errors.Is(err, io.EOF) {
				fmt.Fprintln(a.Stderr)
				ask = false // what is missing is said below
				continue
			}
			if err != nil {
				return err
			}
			values[arg.Name] = word
		}
	}
	for _, given := range sortedKeys(values) {
		if !strings.Contains("\x00"+strings.Join(names, "\x00")+"\x00", "\x00"+given+"\x00") {
			return b.badArguments(probe.UnknownArgument(given, spelling.Nearest(given, names)))
		}
	}
	if err := probe.CheckPrompt(declared, values); err != nil {
		return b.badArguments(err)
	}
	return nil
}
