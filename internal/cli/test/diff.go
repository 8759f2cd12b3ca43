package test

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/tester/lint"
)

func DiffCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	cmd := target.NewCommand(a, "diff A B", a.T("compare what two servers offer", "比较两个服务器提供的内容"), &f,
		func(cmd *cobra.Command, args []string) error { return diff(a, cmd, &f, args) })
	cmd.Long = a.T("Compares the tools, resources and prompts of two servers. A and B are targets, or files that\n\"list TARGET --json\" wrote; B may be a command after --. Exit code 7 says that they differ.",
		"比较两个服务器的工具、资源与提示词。A 和 B 是目标，或由 \"list TARGET --json\" 写出的文件；\nB 也可以是 -- 之后的命令。退出码 7 表示有差异。")
	cmd.Example = "  mcp-all-in-one list github --json > github.json\n  mcp-all-in-one diff github.json github"
	return cmd
}

func diff(a *env.Env, cmd *cobra.Command, f *target.Flags, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 && len(args) != 2 || dash >= 0 && (dash != 1 || len(args) == 1) {
		return command.UsageError(a, cmd, a.T("two targets are needed", "需要两个目标"))
	}
	left, err := features(cmd.Context(), a, *f, args[:1], nil)
	if err != nil {
		return err
	}
	right, err := features(cmd.Context(), a, *f, args[1:], args[1:])
	if err != nil {
		return err
	}
	changes := lint.DiffFeatures(left, right)
	if !env.ShowJSON(a, map[string]any{"changes": append([]lint.FeatureChange{}, changes...)}) {
		for _, c := range changes {
			fmt.Fprintln(a.Stdout, c.In(a.Lang))
		}
	}
	if len(changes) > 0 {
		return env.Silent(env.ExitDiffers)
	}
	return nil
}

// features reads the features of one side: a file, a target, or a command.
func features(ctx context.Context, a *env.Env, f target.Flags, words, command []string) (lint.Features, error) {
	if len(words) == 1 {
		if data, err := os.ReadFile(words[0]); err == nil {
			saved, err := lint.ReadFeatures(data)
			if err != nil {
				return nil, env.Fail(env.ExitUsage, env.CodeUsage, "", "%s: %v", words[0], err)
			}
			return saved, nil
		}
	}
	var m *target.Target
	var err error
	if len(words) == 1 {
		m, err = target.TargetWord(ctx, a, &f, words[0], nil)
	} else {
		m, err = target.TargetCommand(a, &f, command, nil)
	}
	if err != nil {
		return nil, err
	}
	b, err := target.Open(ctx, a, &f, m, nil)
	if err != nil {
		return nil, err
	}
	defer b.End()
	features, err := lint.FeaturesOf(b.Ctx, b.Session)
	return features, target.Failed(a, err, m)
}
