package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/service"
)

// ServiceCommand returns the command that manages the gateway as a service of
// the user.
func ServiceCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: a.T("run the gateway as a service: from login on, restarted when it fails", "将网关作为服务运行：登录时启动，失败后重启"),
		Long: a.T("Runs `http` as a service of this user: a user unit of systemd, an agent of launchd, or a\nuser service of Windows.",
			"将 `http` 作为当前用户的服务运行：systemd 用户单元、launchd 代理或 Windows 用户服务。"),
		Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(serviceInstall(a), serviceUninstall(a), serviceStatus(a), serviceLogs(a), serviceRun(a))
	return cmd
}

func manager(a *env.Env) service.Manager { return service.New(a.Home(), folders.StateDir()) }

// serviceError returns the error of the service manager. If the service is not
// installed, the exit code is 4.
func serviceError(a *env.Env, err error) error {
	if err == nil {
		return nil
	}
	code, hint := env.ExitFailure, a.T("mcp-all-in-one http runs the gateway in the foreground", "mcp-all-in-one http 在前台运行网关")
	if errors.Is(err, service.ErrNotInstalled) {
		code, hint = env.ExitUnreachable, "mcp-all-in-one service install"
	}
	return &env.ExitError{Code: code, ID: env.CodeService, Err: err, Hint: hint}
}

func serviceInstall(a *env.Env) *cobra.Command {
	show := false
	cmd := &cobra.Command{
		Use:   "install [-- FLAG...]",
		Short: a.T("install the service and start it", "安装并启动服务"),
		Long: a.T("Installs the service and starts it, now and at every login. Flags after -- are passed to\n`http`. The service gets the PATH of this shell, so that it finds npx and uvx; other\nvariables are not passed on.",
			"安装服务并立即启动，之后每次登录时启动。-- 之后是 `http` 的选项。服务使用当前 shell 的 PATH，\n以便找到 npx 与 uvx；不传递其他变量。"),
		Example: "  mcp-all-in-one service install\n  mcp-all-in-one service install -- --port 8080 --watch",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return command.UsageError(a, cmd, a.T("flags of http come after --", "http 的选项写在 -- 之后"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := serviceSpec(a, args)
			if err != nil {
				return err
			}
			if show {
				fmt.Fprint(a.Stdout, manager(a).Describe(spec))
				return nil
			}
			if err := manager(a).Install(cmd.Context(), spec); err != nil {
				return serviceError(a, err)
			}
			return installed(cmd.Context(), a)
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, a.T("print the file that would be written, and do nothing", "显示将要写入的文件，不执行任何操作"))
	return cmd
}

// serviceSpec returns the command line of the service. It fails if the
// configuration cannot be served.
func serviceSpec(a *env.Env, flags []string) (service.Spec, error) {
	cfg, err := a.LoadForServe()
	if err != nil {
		return service.Spec{}, err
	}
	program, err := service.Program(a.Args[0])
	if err != nil {
		return service.Spec{}, err
	}
	args := []string{"http"}
	if a.ConfigPath != "" {
		path, err := filepath.Abs(cfg.Path)
		if err != nil {
			return service.Spec{}, err
		}
		args = append(args, "--config", path)
	}
	path, _ := a.Getenv("PATH")
	return service.Spec{Program: program, Args: append(args, flags...), Path: path}, nil
}

// installed prints the state of the service after its installation, and hints.
func installed(ctx context.Context, a *env.Env) error {
	if err := printService(ctx, a); err != nil {
		return err
	}
	if !a.JSON && runtime.GOOS == "linux" {
		fmt.Fprintln(a.Stdout, a.T("it ends when you log out; loginctl enable-linger keeps it running", "注销后服务会结束；loginctl enable-linger 可使其持续运行"))
	}
	if !a.JSON && runtime.GOOS == "windows" {
		fmt.Fprintln(a.Stdout, a.T("it starts at the next login", "下次登录时启动"))
	}
	return nil
}

func serviceUninstall(a *env.Env) *cobra.Command {
	return &cobra.Command{Use: "uninstall", Short: a.T("stop the service and remove it", "停止并删除服务"), Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serviceError(a, manager(a).Uninstall(cmd.Context()))
		}}
}

func serviceStatus(a *env.Env) *cobra.Command {
	return &cobra.Command{Use: "status", Short: a.T("show whether the service runs; the exit code is 4 if it does not", "显示服务是否在运行；未运行时退出码为 4"), Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := manager(a).Status(cmd.Context())
			if err != nil {
				return serviceError(a, err)
			}
			if !st.Installed && !a.JSON {
				return serviceError(a, service.ErrNotInstalled)
			}
			showStatus(a, st)
			if !st.Running {
				return env.Silent(env.ExitUnreachable)
			}
			return nil
		}}
}

func printService(ctx context.Context, a *env.Env) error {
	st, err := manager(a).Status(ctx)
	if err != nil {
		return serviceError(a, err)
	}
	showStatus(a, st)
	return nil
}

func showStatus(a *env.Env, st service.Status) {
	if env.ShowJSON(a, st) {
		return
	}
	rows := [][2]string{{a.T("state", "状态"), st.State}}
	if st.PID > 0 {
		rows = append(rows, [2]string{"pid", strconv.Itoa(st.PID)})
	}
	if st.File != "" {
		rows = append(rows, [2]string{a.T("file", "文件"), st.File})
	}
	for _, row := range append(rows, [2]string{a.T("logs", "日志"), st.Logs}) {
		fmt.Fprintf(a.Stdout, "%s %s\n", env.PadRight(row[0], 8), row[1])
	}
}

func serviceLogs(a *env.Env) *cobra.Command {
	lines, follow := 50, false
	cmd := &cobra.Command{Use: "logs", Short: a.T("show the log of the service", "显示服务的日志"), Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if st, err := manager(a).Status(cmd.Context()); err == nil && !st.Installed {
				return serviceError(a, service.ErrNotInstalled)
			}
			if follow {
				fmt.Fprintln(a.Stderr, a.T("following the log of the service; Ctrl-C ends it", "正在持续显示服务的日志；按 Ctrl-C 结束"))
			}
			return serviceError(a, manager(a).Logs(cmd.Context(), a.Stdout, lines, follow))
		}}
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, a.T("show the last `N` lines", "显示最后 `N` 行"))
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, a.T("keep printing new lines", "持续显示新日志"))
	return cmd
}

// serviceRun returns the command that the service manager of Windows starts. It
// runs one of our command lines until the service manager stops it.
func serviceRun(a *env.Env) *cobra.Command {
	return &cobra.Command{Use: "run", Hidden: true, DisableFlagParsing: true, RunE: func(cmd *cobra.Command, args []string) error {
		err := service.Run(folders.StateDir(), func(stop <-chan struct{}, log io.Writer) error {
			a.Stop, a.Stdout, a.Stderr = stop, log, log
			root := cmd.Root()
			root.SetArgs(args)
			err := root.ExecuteContext(cmd.Context())
			if err != nil {
				a.Report(err) // into the log, the only visible output
			}
			return err
		})
		return serviceError(a, err)
	}}
}
