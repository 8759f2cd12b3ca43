package manage

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/upstream"
)

func pins(a *env.Env) *upstream.Pins { return instance.OpenPins() }

// approveTools shows how the definitions of a server changed, and accepts
// exactly what it has shown after a yes.
func approveTools(a *env.Env, cmd *cobra.Command, cfg *config.Config, s *config.Server, changed []upstream.DefinitionChange, yes bool) error {
	for _, c := range changed {
		printChanged(a, c)
		for _, found := range c.Suspicious {
			fmt.Fprintf(a.Stderr, "  ! %s%s\n", a.T("gives orders to the model: ", "向模型下达指令："), found)
		}
		for _, change := range c.Changes {
			fmt.Fprintf(a.Stderr, "  %s\n", change.Path)
			printSide(a, "-", change.Was)
			printSide(a, "+", change.Now)
		}
	}
	if !yes {
		if err := confirm(a, a.T("Accept this as it is now? [y/N] ", "接受现在的定义吗？[y/N] ")); err != nil {
			return err
		}
	}
	if err := pins(a).Approve(s.ID(), changed); errors.Is(err, upstream.ErrChangedAgain) {
		return env.Fail(env.ExitFailure, env.CodeEntryChanged, "", "%v", err)
	} else if err != nil {
		return err
	}
	return approved(a, cmd, cfg, s)
}

// printChanged names what changed. Of instructions there is one text.
func printChanged(a *env.Env, c upstream.DefinitionChange) {
	kind := a.T(c.Kind, map[string]string{"tool": "工具", "prompt": "提示", "instructions": "说明"}[c.Kind])
	if c.Kind != c.Name {
		kind += " " + i18n.Reveal(c.Name)
	}
	fmt.Fprintln(a.Stderr, kind)
}

func printSide(a *env.Env, mark, text string) {
	if text != "" {
		fmt.Fprintf(a.Stderr, "    %s %s\n", mark, text)
	}
}
