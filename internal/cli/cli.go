// Package cli implements the command line. It selects the program by the name
// it was called with and runs its commands. Each group of commands in the help
// has its own package below this one.
package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/manage"
	"mcp-all-in-one/internal/cli/run"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/cli/typed"
	"mcp-all-in-one/internal/cli/use"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/stdio"
)

// Run runs the program and returns its exit code.
func Run(ctx context.Context, e env.Env) int {
	if len(e.Args) > 1 && e.Args[1] == helperCommand {
		return stdio.RunHelper(ctx)
	}
	a := &e
	if a.Getenv == nil {
		a.Getenv = os.LookupEnv
	}
	a.Lang = env.Language(a.Getenv)
	ctx, end := env.WatchOutput(ctx, a)
	defer end()
	name, args := identify(e.Args)
	a.Personality = env.Personalities()[name]
	a.Share = manage.Share(a)
	root := roots()[name](a)
	if a.Personality.Own {
		args = run.BareHelp(args, env.FirstWord(root.PersistentFlags(), args))
		args = use.ShieldTerms(target.ShortForm(a, root, args), env.FirstWord(root.PersistentFlags(), args))
		args = typed.ShieldCommand(root, args, env.FirstWord(root.PersistentFlags(), args))
	}
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(e.Stderr)
	defer profile(a)()
	err := root.ExecuteContext(ctx)
	return a.Report(env.Lost(a, err))
}

// helperCommand starts the helper process that starts all servers. It is
// internal.
const helperCommand = "__helper"

// identify returns the name of the program: the name it was called by, or the
// first argument. args are the remaining arguments.
func identify(words []string) (name string, args []string) {
	args = words[1:]
	name = strings.TrimSuffix(filepath.Base(words[0]), ".exe")
	p, known := env.Personalities()[name]
	if known && !p.Own {
		return name, args
	}
	if len(args) > 0 {
		if _, ok := env.Personalities()[args[0]]; ok {
			return args[0], args[1:]
		}
	}
	return "mcp-all-in-one", args
}

// Root returns the command tree of mcp-all-in-one in English. Documentation
// pages are generated from it.
func Root() *cobra.Command {
	const name = "mcp-all-in-one"
	a := &env.Env{Args: []string{name}, Getenv: func(string) (string, bool) { return "", false }, Lang: i18n.English, Personality: env.Personalities()[name]}
	root := mainRoot(a)
	root.DisableAutoGenTag = true
	return root
}

// profileVariable names a file for a CPU profile of the whole run. It is for
// developers of the program.
const profileVariable = "MCP_AIO_CPUPROFILE"

// profile starts a CPU profile if one is requested. The returned function stops
// it.
func profile(a *env.Env) func() {
	path, ok := a.Getenv(profileVariable)
	if !ok || path == "" {
		return func() {}
	}
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintf(a.Stderr, "%s: %s\n", profileVariable, a.Lang.Of(err))
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close()
	}
}
