package manage

import (
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/upstream/pin"
)

// Share returns the storage that the replicas of this configuration share, for
// writes of the commands. The config is loaded at the first write.
func Share(a *env.Env) approval.Sharing {
	return sync.OnceValues(func() (record.Documents, error) {
		cfg, err := a.Load(false)
		if err != nil {
			return nil, err
		}
		return instance.Documents(cfg)
	})
}

// pins returns the tool definitions that the gateway on this machine has
// stored.
func pins() *pin.Store { return instance.OpenPins(nil) }

// approveTools shows how the definitions of a server changed. After
// confirmation it accepts exactly the definitions shown.
func approveTools(a *env.Env, cmd *cobra.Command, cfg *config.Config, s *config.Server, changed []pin.Change, yes bool) error {
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
		if err := confirm(a, a.T("Accept the current definition? [y/N] ", "接受现在的定义吗？[y/N] ")); err != nil {
			return err
		}
	}
	docs, err := instance.Documents(cfg)
	if err != nil {
		return err
	}
	if err := instance.OpenPins(docs).Approve(s.ID(), changed); errors.Is(err, pin.ErrChangedAgain) {
		return env.Fail(env.ExitFailure, env.CodeEntryChanged, "", "%v", err)
	} else if err != nil {
		return err
	}
	return approved(a, cmd, cfg, s)
}

// printChanged prints the kind and name of a changed definition. Instructions
// have no name.
func printChanged(a *env.Env, c pin.Change) {
	kind := a.T(c.Kind, map[string]string{"tool": "工具", "prompt": "提示词", "instructions": "说明"}[c.Kind])
	if c.Kind != c.Name {
		kind += " " + i18n.Reveal(c.Name)
	}
	if c.User != "" {
		kind += a.T(", as it is shown to ", "，显示对象：") + i18n.Reveal(c.User)
	}
	fmt.Fprintln(a.Stderr, kind)
}

func printSide(a *env.Env, mark, text string) {
	if text != "" {
		fmt.Fprintf(a.Stderr, "    %s %s\n", mark, text)
	}
}
