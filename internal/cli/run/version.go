package run

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/web"
)

func VersionCommand(a *env.Env) *cobra.Command {
	var notices bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: a.T("print the version", "显示版本"),
		Args:  command.NoArgs(a),
		RunE: func(*cobra.Command, []string) error {
			if notices {
				return printNotices(a)
			}
			if a.JSON {
				b := mcp.ThisBuild()
				env.WriteLine(a.Stdout, map[string]any{"name": a.Personality.Name, "version": mcp.ProductVersion, "commit": b.Commit, "date": b.Date,
					"go": b.Go, "platform": runtime.GOOS + "/" + runtime.GOARCH, "protocols": mcp.AllVersions()})
				return nil
			}
			fmt.Fprintf(a.Stdout, "%s %s (%s)\n", a.Personality.Name, mcp.ProductVersion, command.Build(a))
			return nil
		},
	}
	cmd.Flags().BoolVar(&notices, "notices", false, a.T("print the licences of third-party works in this program", "显示本程序所含第三方作品的许可证"))
	return cmd
}

func printNotices(a *env.Env) error {
	text := web.Notices()
	if text == nil {
		return i18n.Errorf("this copy was built without its notices: build it with npm in PATH, or read THIRD_PARTY_NOTICES of a release",
			"此副本构建时未包含许可证文本：请在 PATH 中有 npm 时重新构建，或查看发布包中的 THIRD_PARTY_NOTICES")
	}
	_, err := a.Stdout.Write(text)
	return err
}
