package other

import (
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/doctor"
	"mcp-all-in-one/internal/env"
)

func DoctorCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [SERVER]",
		Short: a.T("find problems and suggest fixes", "检查问题并给出修正建议"),
		Long: a.T("Checks the config file and its servers, and prints each problem with a fix. It asks the\nrunning gateway; without one it starts all servers for a moment. The exit code is 4 if a\nserver is down.",
			"检查配置文件及其中的服务器，说明问题与修正方法：询问正在运行的网关；没有网关时同时\n短暂启动所有服务器。有服务器不可用时退出码为 4。"),
		Args: command.ArgCount(a, 0, 1), ValidArgsFunction: command.CompleteServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return doctor.Examine(cmd.Context(), a, strings.Join(args, ""))
		},
	}
}
