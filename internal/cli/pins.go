package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/upstream"
)

// OpenPins is what is remembered of the definitions of servers.
func OpenPins() *upstream.Pins { return upstream.OpenPins(filepath.Join(config.StateDir(), "pins")) }

func pins(a *Env) *upstream.Pins { return OpenPins() }

// approveTools shows how the definitions of a server changed, and accepts
// exactly what it has shown after a yes.
func approveTools(a *Env, cmd *cobra.Command, cfg *config.Config, s *config.Server, changed []upstream.DefinitionChange, yes bool) error {
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
		return Fail(ExitFailure, CodeEntryChanged, "", "%v", err)
	} else if err != nil {
		return err
	}
	return approved(a, cmd, cfg, s)
}

// printChanged names what changed. Of instructions there is one text.
func printChanged(a *Env, c upstream.DefinitionChange) {
	kind := a.T(c.Kind, map[string]string{"tool": "工具", "prompt": "提示", "instructions": "说明"}[c.Kind])
	if c.Kind != c.Name {
		kind += " " + catalog.Reveal(c.Name)
	}
	fmt.Fprintln(a.Stderr, kind)
}

func printSide(a *Env, mark, text string) {
	if text != "" {
		fmt.Fprintf(a.Stderr, "    %s %s\n", mark, text)
	}
}

// Lookalikes are the tools of a schema that may be taken for one another; of
// one server where it is named.
func (in *Instance) Lookalikes(schema, server string) []catalog.Lookalike {
	view := in.Set.Snapshot().Schema(schema)
	if view == nil {
		return nil
	}
	var sources []catalog.Source
	for _, u := range view.Upstreams {
		sources = append(sources, catalog.Source{Server: u.Name(), Features: u.Features(nil)})
	}
	list := catalog.Lookalikes(sources)
	if server == "" {
		return list
	}
	return slices.DeleteFunc(list, func(l catalog.Lookalike) bool {
		return !slices.ContainsFunc(l.Tools, func(t string) bool { return strings.HasPrefix(t, catalog.Reveal(server)+"/") })
	})
}

// maxLookalikes bounds what is logged about servers that have endless names.
const maxLookalikes = 1000

// warnLookalikes logs, once, names that only look the same: those are made to
// deceive. Equal names are told apart by their servers.
func (in *Instance) warnLookalikes() func() {
	told := make(map[string]bool)
	return func() {
		for _, view := range in.Set.Snapshot().Schemas {
			for _, l := range in.Lookalikes(view.Config.Name, "") {
				if key := strings.Join(l.Tools, " "); !l.Same && !told[key] && len(told) < maxLookalikes {
					told[key] = true
					in.Log.Warn("tools look alike", "schema", view.Config.Name, "tools", l.Tools)
				}
			}
		}
	}
}
