package env

import (
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// Again is one of our commands as it has to be typed now: with the file that
// this run was told to use.
func (a *Env) Again(words ...string) string {
	name := a.Personality.Name
	if !a.Personality.Own {
		name = "mcp-all-in-one"
	}
	line := append([]string{name}, words...)
	if a.Project {
		line = append(line, "--project")
	}
	if a.ConfigPath != "" {
		line = append(line, "-c", a.ConfigPath)
	}
	return i18n.Command(line...)
}

// AgainFor is a command about one server.
func (a *Env) AgainFor(command string, s *config.Server) string {
	words := append(strings.Fields(command), s.Name)
	if s.Schema != config.DefaultSchema {
		words = append(words, "--schema", s.Schema)
	}
	return a.Again(words...)
}

// Usable says why a configured server cannot be used, and how it can.
func (a *Env) Usable(s *config.Server) error {
	switch {
	case !s.Enabled:
		return Fail(ExitUsage, codeServerOff, a.AgainFor("enable", s), "%s", a.T("server "+s.Name+" is disabled", "服务 "+s.Name+" 已停用"))
	case s.Pending:
		return Fail(ExitDenied, CodeUnapproved, a.AgainFor("approve", s), "%s", a.T("nobody has approved server "+s.Name, "尚未批准服务 "+s.Name))
	case len(s.Missing) > 0:
		return Fail(ExitUsage, codeUnset, a.T("set them in the environment, or store a ${secret:NAME} with: mcp-all-in-one secret set NAME", "请在环境变量中设置；${secret:NAME} 用 mcp-all-in-one secret set NAME 保存"), "%s",
			a.T("server "+s.Name+" uses variables that are not set: ", "服务 "+s.Name+" 使用了未设置的变量：")+strings.Join(s.Missing, ", "))
	}
	return nil
}
