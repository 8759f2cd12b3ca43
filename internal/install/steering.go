package install

import (
	"mcp-all-in-one/internal/config/steering"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

var envName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnvName refuses variables that control what programs load.
func checkEnvName(name string) error {
	if !envName().MatchString(name) {
		return fail(env.CodeSteers, "sets %s, which is not a name of a variable: refused", "设置了 %s，它不是变量名：已拒绝", Show(name))
	}
	if why := steering.Why(name); !why.Empty() {
		return &Error{Code: env.CodeSteers, Text: i18n.New("sets %s, which %v: refused", "设置了 %s，它%v：已拒绝", name, why)}
	}
	return nil
}
