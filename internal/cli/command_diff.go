package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/probe"
)

func diffCommand(a *app) *cobra.Command {
	var f probeFlags
	cmd := probeCommand(a, "diff A B", a.t("compare what two servers offer", "比较两个服务提供的内容"), &f,
		func(cmd *cobra.Command, args []string) error { return diff(a, cmd, &f, args) })
	cmd.Long = a.t("Compare the tools, resources and prompts of two servers. A and B are targets, or files that\n\"list TARGET --json\" wrote; B may be a command after --. Exit code 7 says that they differ.",
		"比较两个服务的工具、资源与提示词。A 和 B 是目标，或由 \"list TARGET --json\" 写出的文件；\nB 也可以是 -- 之后的命令。退出码 7 表示有差异。")
	cmd.Example = "  mcp-all-in-one list github --json > github.json\n  mcp-all-in-one diff github.json github"
	return cmd
}

func diff(a *app, cmd *cobra.Command, f *probeFlags, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 && len(args) != 2 || dash >= 0 && (dash != 1 || len(args) == 1) {
		return usageError(a, cmd, a.t("two targets are needed", "需要两个目标"))
	}
	left, err := features(cmd.Context(), a, *f, args[:1], nil)
	if err != nil {
		return err
	}
	right, err := features(cmd.Context(), a, *f, args[1:], args[1:])
	if err != nil {
		return err
	}
	changes := probe.DiffFeatures(left, right)
	if a.asJSON {
		writeLine(a.Stdout, map[string]any{"changes": append([]probe.FeatureChange{}, changes...)})
	} else {
		for _, c := range changes {
			fmt.Fprintln(a.Stdout, c.In(a.lang))
		}
	}
	if len(changes) > 0 {
		return silent(exitDiffers)
	}
	return nil
}

// features reads one side: a file, a target, or a command.
func features(ctx context.Context, a *app, f probeFlags, words, command []string) (probe.Features, error) {
	if len(words) == 1 {
		if data, err := os.ReadFile(words[0]); err == nil {
			saved, err := probe.ReadFeatures(data)
			if err != nil {
				return nil, fail(exitUsage, codeUsage, "", "%s: %v", words[0], err)
			}
			return saved, nil
		}
	}
	var m *aim
	var err error
	if len(words) == 1 {
		m, err = aimWord(ctx, a, &f, words[0], nil)
	} else {
		m, err = aimCommand(a, &f, command, nil)
	}
	if err != nil {
		return nil, err
	}
	b, err := open(ctx, a, &f, m, nil)
	if err != nil {
		return nil, err
	}
	defer b.close()
	features, err := probe.FeaturesOf(b.ctx, b.Session)
	return features, probeError(a, err, m)
}
