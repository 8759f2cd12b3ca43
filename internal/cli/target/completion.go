package target

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web"
)

// completionBudget is the maximum time for a completion.
const completionBudget = 150 * time.Millisecond

// CompleteTarget completes a target after the first before words, and after the
// target the names in the given lists and their arguments.
func CompleteTarget(a *env.Env, f *Flags, before int, kinds ...catalog.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) < before {
			return nil, cobra.ShellCompDirectiveDefault // a file
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionBudget)
		defer cancel()
		c := &completer{env: a, flags: f, ctx: ctx, kinds: kinds}
		found := c.candidates(args[before:], typed)
		directive := cobra.ShellCompDirectiveNoFileComp
		if slices.ContainsFunc(found, func(word string) bool { return strings.HasSuffix(word, "=") }) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}

// CompleteList completes the words of list. A kind may come first.
func CompleteList(a *env.Env, f *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		kinds := output.AllKinds
		if len(args) > 0 {
			if k, ok := output.KindWords[args[0]]; ok {
				kinds, args = []catalog.Kind{k}, args[1:]
			}
		}
		found, directive := CompleteTarget(a, f, 0, kinds...)(cmd, args, typed)
		if len(args) == 0 && len(kinds) > 1 {
			for _, word := range env.SortedKeys(output.KindWords) {
				if strings.HasPrefix(word, typed) {
					found = append(found, word)
				}
			}
		}
		return found, directive
	}
}

// CompleteRun completes the id of a request in the history.
func CompleteRun(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	runs, err := OpenHistory().List("", "", "", history.MaxRuns)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for i := range runs {
		if r := &runs[i]; strings.HasPrefix(r.ID, typed) {
			found = append(found, r.ID+"\t"+strings.TrimSpace(r.Target+" "+r.Name))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// A completer finds the possible next words.
type completer struct {
	env   *env.Env
	flags *Flags
	ctx   context.Context
	kinds []catalog.Kind
}

func (c *completer) candidates(words []string, typed string) []string {
	var found []string
	switch {
	case len(words) == 0:
		found = c.targets(typed)
	default:
		m, err := TargetWord(c.ctx, c.env, c.flags, words[0], words[1:])
		if err != nil {
			return nil
		}
		found = c.after(m)
	}
	return slices.DeleteFunc(found, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// targets returns the configured names, the merged view and the connected
// clients. After a server name and a dot it returns the tools of that server.
func (c *completer) targets(typed string) []string {
	cfg, err := c.env.Load(false)
	if err != nil {
		return nil
	}
	schema, err := env.StdioSchema(c.env, cfg, c.flags.Schema)
	if err != nil {
		return nil
	}
	servers := cfg.Schema(schema)
	found := append(servers.Names(), ".")
	if name, _, ok := strings.Cut(typed, "."); ok && servers.Server(name) != nil && slices.Contains(c.kinds, catalog.Tools) {
		if m, err := TargetWord(c.ctx, c.env, c.flags, name, nil); err == nil {
			for _, it := range c.items(m, catalog.Tools) {
				found = append(found, name+"."+it.Name+"\t"+it.About)
			}
		}
	}
	if r := control.Running(c.ctx, c.env, cfg.Path); r != nil && strings.HasPrefix(typed, "@") {
		var clients []web.Client
		// A gateway that does not answer in time is ignored.
		_ = r.Get(c.ctx, "/api/v1/clients", &clients)
		for _, client := range clients {
			found = append(found, "@"+client.Name)
		}
	}
	return found
}

// after returns the names in a target's lists, or, after such a name, its
// arguments.
func (c *completer) after(m *Target) []string {
	var found []string
	for _, k := range c.kinds {
		for _, it := range c.items(m, k) {
			switch {
			case len(m.Rest) == 0:
				found = append(found, it.Name+"\t"+it.About)
			case it.Name == m.Rest[0]:
				found = append(found, it.Words...)
			}
		}
	}
	return slices.DeleteFunc(found, func(word string) bool {
		name, _, ok := strings.Cut(word, "=")
		return ok && slices.ContainsFunc(m.Rest, func(given string) bool { return strings.HasPrefix(given, name+"=") })
	})
}

// items returns a list of a target, from a running gateway if there is one,
// otherwise from the cache. A completion never starts a server.
func (c *completer) items(m *Target, k catalog.Kind) []knownItem {
	f := Flags{Protocol: c.flags.Protocol, answer: "decline", Shared: true, idle: completionBudget, noHistory: true}
	if (&Connection{Env: c.env, To: m, Flags: &f, Ctx: c.ctx}).reuse() == nil {
		return m.rememberedItems(k)
	}
	b, err := Open(c.ctx, c.env, &f, m, nil)
	if err != nil {
		return m.rememberedItems(k)
	}
	defer b.End()
	l, err := b.List(c.ctx, k)
	if err != nil {
		return m.rememberedItems(k)
	}
	return knownItems(l)
}

// List fetches a list and caches it for completion.
func (b *Connection) List(ctx context.Context, k catalog.Kind) (*probe.Listing, error) {
	l, err := b.Session.List(ctx, k)
	if err == nil {
		b.listed(l)
	}
	return l, err
}
