// Package typed corrects command lines: it tells where the command of a server
// begins in what a person has typed or pasted.
package typed

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/stdio"
)

// ShieldCommand allows pasting a command after add NAME as documentation shows
// it. It inserts -- before the command so that the command's flags are not
// parsed as ours. If the name is missing, -- comes first and add reports the
// missing name.
func ShieldCommand(root *cobra.Command, args []string, at int) []string {
	if slices.Contains(args, "--help") && !slices.Contains(args, "--") {
		return args
	}
	if name, command := commandIn(root, args, at); command >= 0 && (name == command || isProgram(args[command])) {
		return slices.Insert(slices.Clone(args), command, "--")
	}
	return args
}

// commandIn returns the positions of the name and the command in the arguments
// of add. They are equal if the name is missing. command is -1 if no command
// can be identified or -- is already present.
func commandIn(root *cobra.Command, args []string, at int) (name, command int) {
	if at < 0 || args[at] != "add" {
		return -1, -1
	}
	add, _, err := root.Find([]string{"add"})
	if err != nil {
		return -1, -1
	}
	add.InheritedFlags() // adds the inherited flags to the command's flags
	first := env.FirstWord(add.Flags(), args[at+1:])
	if first < 0 {
		return -1, -1
	}
	name = at + 1 + first
	second := env.FirstWord(add.Flags(), args[name+1:])
	if command = name + 1 + second; second < 0 {
		command = -1
	}
	known := command >= 0 && (strings.Contains(args[command], "://") || isRunner(args[command]))
	switch {
	case isRunner(args[name]) && !known && !slices.Contains(args[name:], "--") && name+1 < len(args):
		return name, name
	case command >= 0 && strings.Contains(args[command], "://"):
		return name, -1
	}
	return name, command
}

// interpreters are programs that start servers; a server is not named like
// them.
var interpreters = []string{"python", "python3", "node", "java", "ruby", "php", "sh", "bash"}

func isRunner(word string) bool {
	return stdio.Fetches(word) || slices.Contains(interpreters, filepath.Base(word))
}

func isProgram(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil || isRunner(word)
}

// WithDash returns the command line of add as it should have been typed, with
// -- before the command and a name before that; empty if no command can be
// identified. What is an address or a bundle is given as one.
func WithDash(a *env.Env, cmd *cobra.Command) string {
	words := slices.Clone(a.Args)
	words[0] = a.Personality.Name
	at := 1 + env.FirstWord(cmd.Root().PersistentFlags(), words[1:])
	dash := slices.Index(words, "--")
	name, command := commandIn(cmd.Root(), words, at)
	switch {
	case at < 1 || words[at] != "add" || dash < 0 && command < 0:
		return ""
	case dash < 0 && name != command && install.IsBundle(words[command]):
		words = slices.Insert(words, command+1, "--name", words[name])
		return i18n.Command(slices.Delete(words, name, name+1)...)
	case dash < 0 && name != command && Address(words[command]) != "":
		words[command] = Address(words[command])
		return i18n.Command(words...)
	case dash < 0 && name != command:
		own, rest := words[command:command], words[command:]
		if !isProgram(words[command]) {
			own, rest = ownFlags(cmd, rest)
		}
		return i18n.Command(slices.Concat(words[:command], own, []string{"--"}, rest)...)
	case dash < 0:
		words = slices.Insert(words, command, "--")
		dash = command
	}
	return i18n.Command(slices.Insert(words, dash, nameFor(words[dash+1:]))...)
}

// ownFlags splits the words from an unknown command on into the flags that can
// only be ours, such as -c FILE, and the rest.
func ownFlags(cmd *cobra.Command, words []string) (own, rest []string) {
	for i := 0; i < len(words); i++ {
		name, _, whole := strings.Cut(words[i], "=")
		flag := cmd.Flags().Lookup(strings.TrimPrefix(name, "--"))
		if flag == nil && len(name) == 2 {
			flag = cmd.Flags().ShorthandLookup(name[1:])
		}
		ours := flag != nil && name[0] == '-' && (cmd.InheritedFlags().Lookup(flag.Name) != nil || slices.Contains([]string{"schema", "create-schema", "replace"}, flag.Name))
		switch {
		case !ours:
			rest = append(rest, words[i])
		case whole || flag.NoOptDefVal != "" || i+1 == len(words):
			own = append(own, words[i])
		default:
			own = append(own, words[i], words[i+1])
			i++
		}
	}
	return own, rest
}

// nameFor returns a name for the server that a command starts. It uses the
// package: the first word with a letter that is neither a flag nor a program.
func nameFor(command []string) string {
	best := ""
	for i, word := range command {
		flag := strings.HasPrefix(word, "-")
		if i == 0 || flag || word == "run" || word == "exec" || word == "tool" || strings.Contains(word, "://") || word == strings.ToUpper(word) {
			continue
		}
		word, _, _ = strings.Cut(word[strings.LastIndexByte(word, '/')+1:], ":")
		word, _, _ = strings.Cut(word, "@")
		word = strings.TrimSuffix(word, filepath.Ext(word))
		if best = install.LocalName(word); best != "" {
			return best
		}
	}
	return "NAME"
}
