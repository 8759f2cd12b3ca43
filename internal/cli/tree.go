package cli

import (
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
)

// Root returns the command tree of mcp-all-in-one in English. Documentation
// pages are generated from it.
func Root() *cobra.Command {
	const name = "mcp-all-in-one"
	a := &env.Env{Args: []string{name}, Getenv: func(string) (string, bool) { return "", false }, Lang: i18n.English, Personality: env.Personalities()[name]}
	root := mainRoot(a)
	root.DisableAutoGenTag = true
	return root
}
