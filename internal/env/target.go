package env

import (
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// TargetOf returns the command or URL of a server as a user would type it.
func TargetOf(s *config.Server) string {
	if s.URL != "" {
		return s.URL
	}
	if s.Type == config.TypeScripts {
		return strings.Join(SortedKeys(s.Scripts), ", ")
	}
	return i18n.Command(append([]string{s.Command}, s.Args...)...)
}
