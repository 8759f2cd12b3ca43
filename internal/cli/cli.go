// Package cli is the command line: one file per command, and the only place
// that wires the parts together.
package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/stdio"
)

// An app is one run of the program: the world around it, who it is, and the
// flags that every command has.
type app struct {
	Args   []string // with the program's name first
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) (string, bool)

	personality personality
	lang        i18n.Lang
	configPath  string
	project     bool
	insecure    bool
	asJSON      bool
}

// Env is the world around the program.
type Env = app

// Run runs the program and returns its exit code.
func Run(ctx context.Context, env Env) int {
	if len(env.Args) > 1 && env.Args[1] == helperCommand {
		return stdio.RunHelper(ctx)
	}
	a := &env
	if a.Getenv == nil {
		a.Getenv = os.LookupEnv
	}
	a.lang = language(a.Getenv)
	name, args := identify(env.Args)
	a.personality = personalities()[name]
	root := roots()[name](a)
	if a.personality.own {
		args = bareHelp(args, firstWord(root.PersistentFlags(), args))
		args = shieldTerms(shortForm(a, root, args), firstWord(root.PersistentFlags(), args))
	}
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	defer profile(a)()
	err := root.ExecuteContext(ctx)
	return a.report(err)
}

// helperCommand starts the process that starts all servers. It is not for
// people.
const helperCommand = "__helper"

// identify finds out by which name the program was called: its own, or the
// first argument. It returns the arguments that are left.
func identify(words []string) (name string, args []string) {
	args = words[1:]
	name = strings.TrimSuffix(filepath.Base(words[0]), ".exe")
	p, known := personalities()[name]
	if known && !p.own {
		return name, args
	}
	if len(args) > 0 {
		if _, ok := personalities()[args[0]]; ok {
			return args[0], args[1:]
		}
	}
	return "mcp-all-in-one", args
}

// t chooses between the two languages.
func (a *app) t(en, zh string) string {
	if a.lang == i18n.Chinese {
		return zh
	}
	return en
}

// language is the one that the user reads.
func language(getenv func(string) (string, bool)) i18n.Lang {
	for _, name := range []string{"MCP_AIO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		if v, ok := getenv(name); ok && v != "" {
			return i18n.ByTag(v)
		}
	}
	return i18n.English
}

// load reads the configuration of this run.
func (a *app) load(create bool) (*config.Config, error) {
	return config.Load(a.loadOptions(create))
}

func (a *app) loadOptions(create bool) config.LoadOptions {
	return config.LoadOptions{
		Path: a.configPath, Personality: a.personality.config, Project: a.project, Insecure: a.insecure,
		Create: create, LookupEnv: a.Getenv,
	}
}
