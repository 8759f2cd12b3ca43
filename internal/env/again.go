package env

import (
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// Again returns one of our commands as the user has to type it now, with the
// config file of this run.
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

// AgainFor returns a command for one server.
func (a *Env) AgainFor(command string, s *config.Server) string {
	words := append(strings.Fields(command), s.Name)
	if s.Schema != config.DefaultSchema {
		words = append(words, "--schema", s.Schema)
	}
	return a.Again(words...)
}

// Usable returns an error if a configured server cannot be used, with the
// command that changes that.
func (a *Env) Usable(s *config.Server) error {
	switch {
	case !s.Enabled:
		return Fail(ExitUsage, codeServerOff, a.AgainFor("enable", s), "%s", a.T("server "+s.Name+" is disabled", "服务器 "+s.Name+" 已停用"))
	case s.Pending:
		return Fail(ExitDenied, CodeUnapproved, a.AgainFor("approve", s), "%s", a.T("server "+s.Name+" is not approved yet", "尚未批准服务器 "+s.Name))
	case len(s.Missing) > 0:
		return Fail(ExitUsage, codeUnset, a.T("set them in the environment, or store a ${secret:NAME} with: mcp-all-in-one secret set NAME", "请在环境变量中设置；${secret:NAME} 用 mcp-all-in-one secret set NAME 保存"), "%s",
			a.T("server "+s.Name+" uses variables that are not set: ", "服务器 "+s.Name+" 使用了未设置的变量：")+strings.Join(s.Missing, ", "))
	}
	return nil
}
