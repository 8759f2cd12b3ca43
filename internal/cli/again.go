package cli

import (
	"strings"

	"mcp-all-in-one/internal/config"
)

// again is one of our commands as it has to be typed now: with the file that
// this run was told to use.
func (a *app) again(words ...string) string {
	name := a.personality.name
	if !a.personality.own {
		name = "mcp-all-in-one"
	}
	line := append([]string{name}, words...)
	if a.project {
		line = append(line, "--project")
	}
	if a.configPath != "" {
		line = append(line, "-c", a.configPath)
	}
	return shellLine(line)
}

// againFor is a command about one server.
func (a *app) againFor(command string, s *config.Server) string {
	words := append(strings.Fields(command), s.Name)
	if s.Schema != config.DefaultSchema {
		words = append(words, "--schema", s.Schema)
	}
	return a.again(words...)
}

// usable says why a configured server cannot be used, and how it can.
func (a *app) usable(s *config.Server) error {
	switch {
	case !s.Enabled:
		return fail(exitUsage, codeServerOff, a.againFor("enable", s), "%s", a.t("server "+s.Name+" is disabled", "服务 "+s.Name+" 已停用"))
	case s.Pending:
		return fail(exitDenied, codeUnapproved, a.againFor("approve", s), "%s", a.t("nobody has approved server "+s.Name, "尚未批准服务 "+s.Name))
	case len(s.Missing) > 0:
		return fail(exitUsage, codeUnset, a.t("set them in the environment, or store a ${secret:NAME} with: mcp-all-in-one secret set NAME", "请在环境变量中设置；${secret:NAME} 用 mcp-all-in-one secret set NAME 保存"), "%s",
			a.t("server "+s.Name+" uses variables that are not set: ", "服务 "+s.Name+" 使用了未设置的变量：")+strings.Join(s.Missing, ", "))
	}
	return nil
}
