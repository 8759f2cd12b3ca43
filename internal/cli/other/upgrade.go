package other

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upgrade"
)

// UpgradeCommand returns the command that looks for a newer release.
func UpgradeCommand(a *env.Env) *cobra.Command {
	var yes, undo bool
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: a.T("look for a newer release, and say how to get it", "检查新版本，并说明如何升级"),
		Long: a.T("Looks for a newer release, and says how to get it the way this copy was installed. The\nprogram never looks by itself. A copy from an archive replaces itself with --yes: by a file\nwhose checksum and signature are good, keeping the old one beside it for --undo.",
			"检查是否有新版本，并按此副本的安装方式说明如何升级。程序从不自行检查。来自压缩包的副本可用 --yes\n替换自身：仅使用校验和与签名都正确的文件，并将旧文件保留在旁边，供 --undo 恢复。"),
		Example: "  mcp-all-in-one upgrade\n  mcp-all-in-one upgrade --yes\n  mcp-all-in-one upgrade --undo",
		Args:    command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := self()
			switch {
			case err != nil:
			case undo:
				err = undoUpgrade(cmd.Context(), a, program)
			default:
				err = runUpgrade(cmd.Context(), a, program, yes)
			}
			if err == nil || errors.As(err, new(*env.ExitError)) {
				return err
			}
			return &env.ExitError{Code: env.ExitFailure, ID: env.CodeUpgrade, Err: err, Hint: sourceHint(a)}
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, a.T("replace this copy by the newer one", "用新版本替换此副本"))
	cmd.Flags().BoolVar(&undo, "undo", false, a.T("go back to the copy that was replaced", "恢复被替换的副本"))
	cmd.MarkFlagsMutuallyExclusive("yes", "undo")
	return cmd
}

// self returns the file of this program with symbolic links resolved, so that
// an upgrade replaces the file and not a link to it.
func self() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(program)
}

func sourceHint(a *env.Env) string {
	if upgrade.Source() == "" {
		return a.T("upgrade it the way you built it: git pull && make install", "请按构建方式升级：git pull && make install")
	}
	return a.T("releases are at ", "发布页：") + upgrade.Source()
}

// found is the JSON output of upgrade.
type found struct {
	Current  string `json:"current"`
	Latest   string `json:"latest"`
	Newer    bool   `json:"newer"`
	Verified bool   `json:"verified"`
	Way      string `json:"installedBy"`
	How      string `json:"how,omitempty"`
}

func runUpgrade(ctx context.Context, a *env.Env, program string, yes bool) error {
	latest, err := upgrade.Latest(ctx)
	if err != nil {
		return err
	}
	way := upgrade.WayOf(program)
	newer := latest.Newer(mcp.ProductVersion)
	if !yes || !newer {
		say(a, latest, way, newer)
		return nil
	}
	if !way.How.Empty() {
		return &env.ExitError{Code: env.ExitFailure, ID: env.CodeUpgrade, Hint: way.How.In(a.Lang),
			Err: i18n.Errorf("%s was installed by %s, which would not know of another file there", "%s 由 %s 安装，直接替换文件会使其记录失效", program, way.Name)}
	}
	if err := latest.Replace(ctx, program); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, a.T("%s is version %s now, before %s; back with: mcp-all-in-one upgrade --undo\n", "%s 现为版本 %s，之前为 %s；恢复：mcp-all-in-one upgrade --undo\n"), program, latest.Version, mcp.ProductVersion)
	sayRunning(ctx, a)
	return nil
}

// say prints the latest release and how to install it.
func say(a *env.Env, latest *upgrade.Release, way upgrade.Way, newer bool) {
	how := way.How
	if how.Empty() {
		how = i18n.Plain("mcp-all-in-one upgrade --yes")
	}
	if a.JSON {
		f := found{Current: mcp.ProductVersion, Latest: latest.Version, Newer: newer, Verified: latest.Verified, Way: way.Name}
		if newer {
			f.How = how.String()
		}
		env.WriteLine(a.Stdout, f)
		return
	}
	if !newer {
		fmt.Fprintf(a.Stdout, a.T("version %s is the newest; the release page has %s\n", "版本 %s 已是最新；发布页为 %s\n"), mcp.ProductVersion, latest.Version)
		return
	}
	fmt.Fprintf(a.Stdout, a.T("version %s is available; this is %s, installed by: %s\n", "有新版本 %s；当前为 %s，安装方式：%s\n"), latest.Version, mcp.ProductVersion, way.Name)
	fmt.Fprintf(a.Stdout, "%s %s\n%s %s\n", env.PadRight(a.T("how", "升级"), 8), how.In(a.Lang), env.PadRight(a.T("page", "发布页"), 8), upgrade.Source())
	if !latest.Verified {
		fmt.Fprintln(a.Stdout, a.T("this copy has no key to verify releases, so the version number is not verified", "此副本没有用于验证发布的公钥，该版本号未经验证"))
	}
}

func undoUpgrade(ctx context.Context, a *env.Env, program string) error {
	if err := upgrade.Undo(program); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, a.T("%s is the previous version again\n", "%s 已恢复为之前的副本\n"), program)
	sayRunning(ctx, a)
	return nil
}

// sayRunning lists the running gateways, which use the old program until they
// are restarted.
func sayRunning(ctx context.Context, a *env.Env) {
	for _, r := range control.Gateways(ctx) {
		fmt.Fprintf(a.Stdout, a.T("this gateway runs the previous version until it is restarted: %s, pid %d\n", "正在运行的网关在重启前仍使用之前的程序：%s，进程 %d\n"), r.URL, r.PID)
	}
}
