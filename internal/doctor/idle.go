package doctor

import (
	"fmt"
	"slices"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/spelling"
	"mcp-all-in-one/internal/upstream"
)

// idleSettings returns the settings for tools in a server's entry that have no
// effect, or are for arguments that do not exist.
func idleSettings(a *env.Env, u *upstream.Upstream) (lines []string) {
	tools, features := u.Config().Tools, u.Features(nil)
	if len(tools) == 0 || features == nil {
		return nil
	}
	known := make(map[string]*catalog.Item, len(features.Tools))
	for i := range features.Tools {
		known[features.Tools[i].Key] = &features.Tools[i]
	}
	issues := u.Status().Issues
	for _, name := range env.SortedKeys(tools) {
		item := known[name]
		if item != nil {
			for _, issue := range catalog.UnknownArguments(item, tools[name].Arguments) {
				lines = append(lines, issue.Detail.In(a.Lang))
			}
		}
		switch {
		case item != nil && tools[name].Cache > 0 && !item.ReadOnly():
			lines = append(lines, fmt.Sprintf(a.T("tools.%s.cache has no effect: the server does not call that tool read-only (readOnlyHint)",
				"tools.%s.cache 不起作用：服务器没有将该工具标为只读（readOnlyHint）"), name))
		case item != nil || slices.ContainsFunc(issues, func(i catalog.Issue) bool { return i.Item == name }): // the tool exists, possibly rejected with an issue
		default:
			line := fmt.Sprintf(a.T("tools.%s has no effect: the server lists no tool of that name", "tools.%s 不起作用：服务器没有列出这个名称的工具"), name)
			if near := spelling.Nearest(name, env.SortedKeys(known)); near != "" {
				line += fmt.Sprintf(a.T("; did you mean %s?", "；是否指 %s？"), near)
			}
			lines = append(lines, line)
		}
	}
	return lines
}
