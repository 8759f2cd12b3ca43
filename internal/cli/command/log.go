package command

import (
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/env"
)

func AddLogFlags(f *daemon.LogFlags, a *env.Env, flags *pflag.FlagSet) {
	flags.StringVarP(&f.Level, "log-level", "l", "", a.T("`LEVEL`: error, warn, info or debug", "日志级别 `LEVEL`：error、warn、info 或 debug"))
	flags.BoolVarP(&f.Silent, "silent", "s", false, a.T("write no log", "不输出日志"))
}
