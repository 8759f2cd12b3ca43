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

// An Env is one run of the program: the world around it, who it is, and the
// flags that every command has.
type Env struct {
	Args   []string // with the program's name first
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) (string, bool)

	Personality personality
	Lang        i18n.Lang
	ConfigPath  string
	Project     bool
	Insecure    bool
	JSON        bool
}

// Run runs the program and returns its exit code.
func Run(ctx context.Context, e Env) int {
	if len(e.Args) > 1 && e.Args[1] == helperCommand {
		return stdio.RunHelper(ctx)
	}
	a := &e
	if a.Getenv == nil {
		a.Getenv = os.LookupEnv
	}
	a.Lang = Language(a.Getenv)
	name, args := identify(e.Args)
	a.Personality = Personalities()[name]
	root := roots()[name](a)
	if a.Personality.Own {
		args = BareHelp(args, FirstWord(root.PersistentFlags(), args))
		args = ShieldTerms(ShortForm(a, root, args), FirstWord(root.PersistentFlags(), args))
	}
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	defer profile(a)()
	err := root.ExecuteContext(ctx)
	return a.Report(err)
}

// helperCommand starts the process that starts all servers. It is not for
// people.
const helperCommand = "__helper"

// identify finds out by which name the program was called: its own, or the
// first argument. It returns the arguments that are left.
func identify(words []string) (name string, args []string) {
	args = words[1:]
	name = strings.TrimSuffix(filepath.Base(words[0]), ".exe")
	p, known := Personalities()[name]
	if known && !p.Own {
		return name, args
	}
	if len(args) > 0 {
		if _, ok := Personalities()[args[0]]; ok {
			return args[0], args[1:]
		}
	}
	return "mcp-all-in-one", args
}

// T chooses between the two languages.
func (a *Env) T(en, zh string) string {
	if a.Lang == i18n.Chinese {
		return zh
	}
	return en
}

// Language is the one that the user reads.
func Language(getenv func(string) (string, bool)) i18n.Lang {
	for _, name := range []string{"MCP_AIO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		if v, ok := getenv(name); ok && v != "" {
			return i18n.ByTag(v)
		}
	}
	return i18n.English
}

// Load reads the configuration of this run.
func (a *Env) Load(create bool) (*config.Config, error) {
	return config.Load(a.LoadOptions(create))
}

func (a *Env) LoadOptions(create bool) config.LoadOptions {
	return config.LoadOptions{
		Path: a.ConfigPath, Personality: a.Personality.Config, Project: a.Project, Insecure: a.Insecure,
		Create: create, LookupEnv: a.Getenv,
	}
}
