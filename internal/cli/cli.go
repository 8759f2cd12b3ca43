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

// Env is the world around the program.
type Env struct {
	Args   []string // with the program's name first
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) (string, bool)
}

// An app is one run of the program.
type app struct {
	Env
	personality personality
	lang        i18n.Lang
	// Flags that every command has.
	configPath string
	project    bool
	insecure   bool
	asJSON     bool
}

// Run runs the program and returns its exit code.
func Run(ctx context.Context, env Env) int {
	if len(env.Args) > 1 && env.Args[1] == helperCommand {
		return stdio.RunHelper(ctx)
	}
	a := &app{Env: env}
	if a.Getenv == nil {
		a.Getenv = os.LookupEnv
	}
	a.lang = language(a.Getenv)
	args := a.identify()
	root := a.personality.root(a)
	if a.personality.own {
		args = bareHelp(args, firstWord(root, args))
		args = shieldTerms(a.shortForm(root, args), firstWord(root, args))
	}
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	defer a.profile()()
	err := root.ExecuteContext(ctx)
	return a.report(err)
}

// helperCommand starts the process that starts all servers. It is not for
// people.
const helperCommand = "__helper"

// identify finds out by which name the program was called: its own, or the
// first argument. It returns the arguments that are left.
func (a *app) identify() []string {
	args := a.Args[1:]
	name := strings.TrimSuffix(filepath.Base(a.Args[0]), ".exe")
	if p, ok := personalities()[name]; ok {
		a.personality = p
		if !p.own {
			return args
		}
	} else {
		a.personality = personalities()["mcp-all-in-one"]
	}
	if len(args) > 0 {
		if p, ok := personalities()[args[0]]; ok {
			a.personality = p
			return args[1:]
		}
	}
	return args
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
