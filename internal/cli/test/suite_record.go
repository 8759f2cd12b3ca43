package test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/cli/use"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/record"
	"mcp-all-in-one/internal/tester/suite"
)

// testFolder is the default folder of test files.
const testFolder = "mcp-tests"

func testRecordCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	cmd := target.NewCommand(a, "record NAME TARGET", a.T("use a server in a shell, and write a test file of the session", "在 shell 中试用服务器，并生成测试文件"), &f,
		func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return command.UsageError(a, cmd, a.T("missing: NAME", "缺少：NAME"))
			}
			m, err := targetRest(a, cmd, &f, args)
			if err != nil {
				return err
			}
			return recordTest(a, cmd, &f, m, testFile(args[0]))
		})
	cmd.Long = a.T("Opens a shell on TARGET; every call, read and prompt becomes a test of mcp-tests/NAME.yaml, with the answers\nthat you gave to the server's questions. Snapshots are written when the file first runs.",
		"在 TARGET 上打开 shell；每次调用、读取与提示词都成为 mcp-tests/NAME.yaml 中的测试，\n并包含你对服务器提问的回答。首次运行该文件时写入快照。")
	cmd.Example = "  mcp-all-in-one test record github github\n  mcp-all-in-one test record demo -- mcp-all-in-one demo"
	return cmd
}

// targetRest parses the target after the first word of the command line.
func targetRest(a *env.Env, cmd *cobra.Command, f *target.Flags, args []string) (*target.Target, error) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if dash == len(args) {
			return nil, command.UsageError(a, cmd, a.T("a command is missing after --", "-- 之后缺少命令"))
		}
		return target.TargetCommand(a, f, args[dash:], nil)
	}
	if len(args) < 2 {
		return nil, target.Missing(a, cmd)
	}
	return target.TargetWord(cmd.Context(), a, f, args[1], nil)
}

// testFile returns the path of the test file with a name.
func testFile(name string) string {
	if strings.ContainsAny(name, "/\\") || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		return name
	}
	return filepath.Join(testFolder, name+".yaml")
}

func recordTest(a *env.Env, cmd *cobra.Command, f *target.Flags, m *target.Target, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return env.Fail(env.ExitUsage, env.CodeUsage, a.T("use another name, or remove the file", "换一个名称，或删除该文件"), "%s %s", path, a.T("is there already", "已存在"))
	}
	from := m.From() // taken now, without a gateway in between
	var frames bytes.Buffer
	capture := record.NewCaptureWriter(&frames, m.Label)
	err := use.RunShell(cmd.Context(), a, f, m, func(o *probe.Options) {
		shown := o.OnFrame
		o.OnFrame = func(frame probe.Frame) {
			capture.Write(frame)
			if shown != nil {
				shown(frame)
			}
		}
	})
	if err != nil {
		return err
	}
	recorded, err := record.ReadCapture(&frames)
	if err != nil {
		return err
	}
	if from != nil {
		from.Protocol = f.Protocol
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return env.Fail(env.ExitUsage, env.CodeUsage, "", "%v", err)
	}
	if err := os.WriteFile(path, suite.SuiteFrom(from, recorded.Turns()), 0o644); err != nil {
		return env.Fail(env.ExitUsage, env.CodeUsage, "", "%v", err)
	}
	fmt.Fprintf(a.Stderr, "%s %s%s\n", path, a.T("written; run it with: ", "已写入；运行："), i18n.Command("mcp-all-in-one", "test", path))
	return nil
}
