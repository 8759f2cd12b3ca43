package test

import (
	"bytes"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/tester/record"
	"mcp-all-in-one/internal/tester/suite"
)

func fromTrafficCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "from-traffic [FILTER | FILE.mcpcap]",
		Short: a.T("write a test file from real calls", "用真实调用生成测试文件"),
		Long: a.T("Makes a test file from the calls that a running gateway recorded, or from a recording.\nSnapshots are written when it first runs.",
			"用正在运行的网关记录的调用或录制文件生成测试文件。\n首次运行时写入快照。"),
		Args: command.ArgCount(a, 0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			suite, err := suiteFromTraffic(a, cmd, strings.Join(args, " "))
			if err != nil {
				return err
			}
			if bytes.HasSuffix(suite, []byte("tests:\n")) {
				return env.Fail(env.ExitUsage, env.CodeUsage, a.Again("traffic"), "%s", a.T("no recorded call fits", "没有符合条件的已记录调用"))
			}
			_, err = a.Stdout.Write(suite)
			return err
		},
	}
	return cmd
}

func suiteFromTraffic(a *env.Env, cmd *cobra.Command, what string) ([]byte, error) {
	if strings.HasSuffix(what, ".mcpcap") {
		capture, err := readCapture(a, what)
		if err != nil {
			return nil, err
		}
		return suite.SuiteFrom(nil, capture.Turns()), nil
	}
	r, err := control.RunningHere(cmd.Context(), a)
	if err != nil {
		return nil, err
	}
	var draft struct {
		Servers []string `json:"servers"`
		Text    string   `json:"text"`
	}
	if err := r.Post(cmd.Context(), "/api/v1/suites/draft", map[string]string{"q": what}, &draft); err != nil {
		return nil, err
	}
	if len(draft.Servers) > 1 {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, "server:"+draft.Servers[0], "%s: %s", a.T("the calls are of several servers", "这些调用属于多个服务器"), strings.Join(draft.Servers, ", "))
	}
	return []byte(draft.Text), nil
}

func readCapture(a *env.Env, path string) (*record.Capture, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, a.T("recordings are made with record, or with --trace", "录制文件由 record 或 --trace 生成"), "%v", err)
	}
	defer file.Close()
	c, err := record.ReadCapture(file)
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, a.T("recordings are made with record, or with --trace", "录制文件由 record 或 --trace 生成"), "%s: %v", path, err)
	}
	return c, nil
}
