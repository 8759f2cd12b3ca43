package manage

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lock"
	"mcp-all-in-one/internal/tester/suite"
	"mcp-all-in-one/internal/upstream"
)

func lockVerifyCommand(a *env.Env) *cobra.Command {
	var tools bool
	var junit string
	cmd := &cobra.Command{
		Use: "verify", Short: a.T("compare the config file with mcp.lock", "将配置文件与 mcp.lock 比较"), Args: command.NoArgs(a),
		Long: a.T("Compares the config file with mcp.lock without starting a server, and prints a line for each difference. The exit code is 0 if there is none, else 1. With --tools it starts the servers as they are locked and also compares what they show.",
			"不启动服务器，将配置文件与 mcp.lock 比较，每处差异输出一行：没有差异时退出码为 0，否则为 1。使用 --tools 时按锁定内容启动各服务器，并比较其提供的内容。"),
		RunE: func(cmd *cobra.Command, _ []string) error { return verifyLock(cmd.Context(), a, tools, junit) },
	}
	cmd.Flags().BoolVar(&tools, "tools", false, a.T("start the servers and compare what they show", "启动各服务器并比较其提供的内容"))
	cmd.Flags().StringVar(&junit, "junit", "", a.T("write a JUnit report to `FILE`", "将 JUnit 报告写入 `FILE`"))
	return cmd
}

// A verdict is the result of comparing one server with its lock.
type verdict struct {
	key    string
	faults []i18n.Text
}

// verifyLock compares the file with its lock, and prints one line per
// difference.
func verifyLock(ctx context.Context, a *env.Env, tools bool, junit string) error {
	cfg, file, err := openLock(a)
	if err != nil {
		return err
	}
	verdicts, err := compareLock(ctx, a, cfg, file, tools)
	if err != nil {
		return err
	}
	if junit != "" {
		if err := writeVerdicts(a, junit, file.Path(), verdicts); err != nil {
			return err
		}
	}
	faults := []i18n.Text{}
	for _, v := range verdicts {
		faults = append(faults, v.faults...)
		for _, fault := range v.faults {
			if !a.JSON {
				fmt.Fprintln(a.Stdout, fault.In(a.Lang))
			}
		}
	}
	env.ShowJSON(a, map[string]any{"differences": faults})
	if len(faults) > 0 {
		return env.Silent(env.ExitFailure)
	}
	if len(verdicts) == 0 {
		noneToLock(a, cfg)
		return nil
	}
	done(a, a.T("as locked: ", "与锁定一致："), file.Path())
	return nil
}

// compareLock compares each server with its lock. Servers that differ are not
// started.
func compareLock(ctx context.Context, a *env.Env, cfg *config.Config, file *lock.File, tools bool) ([]verdict, error) {
	var all []verdict
	known := []string{}
	for _, sc := range cfg.Schemas {
		for _, s := range sc.Servers {
			v := verdict{key: lock.Key(s)}
			known = append(known, v.key)
			if !s.Enabled {
				continue
			}
			if err := file.Verify(ctx, s); err != nil {
				v.faults = append(v.faults, i18n.Why(err))
			} else if tools {
				if err := asLocked(ctx, a, cfg, nil, s, func(_ *instance.Instance, u *upstream.Upstream) error {
					v.faults = compareShown(u, file.Servers[v.key])
					return nil
				}); err != nil {
					return nil, err
				}
			}
			all = append(all, v)
		}
	}
	for _, key := range env.SortedKeys(file.Servers) {
		if !slices.Contains(known, key) {
			all = append(all, verdict{key, []i18n.Text{i18n.New("%s is in mcp.lock but not in the config file", "%s 在 mcp.lock 中，但不在配置文件中", key)}})
		}
	}
	return all, nil
}

// compareShown compares the definitions of a server with its lock.
func compareShown(u *upstream.Upstream, e *lock.Entry) []i18n.Text {
	st := u.Status()
	if st.State != upstream.Ready {
		return []i18n.Text{i18n.New("%s did not start: %v", "%s 没有启动：%v", st.Name, st.Reason)}
	}
	if e.Tools == nil {
		return []i18n.Text{i18n.New("%s is locked without its tools; mcp-all-in-one lock %s adds them", "%s 的锁定中不含其工具；mcp-all-in-one lock %s 可加入", st.Name, st.Name)}
	}
	tools, prompts, instructions := shownBy(u)
	faults := differences(st.Name, i18n.New("tool", "工具"), e.Tools, tools)
	faults = append(faults, differences(st.Name, i18n.New("prompt", "提示词"), e.Prompts, prompts)...)
	if instructions != e.Instructions {
		faults = append(faults, i18n.New("%s: the instructions differ from mcp.lock", "%s：说明与 mcp.lock 中的不同", st.Name))
	}
	return faults
}

func differences(server string, kind i18n.Text, locked, now map[string]string) []i18n.Text {
	var faults []i18n.Text
	for _, name := range env.SortedKeys(locked) {
		switch {
		case now[name] == "":
			faults = append(faults, i18n.New("%s: %v %s is in mcp.lock, but the server does not list it", "%s：%v %s 在 mcp.lock 中，但服务器没有列出", server, kind, name))
		case now[name] != locked[name]:
			faults = append(faults, i18n.New("%s: %v %s differs from mcp.lock", "%s：%v %s 与 mcp.lock 中的不同", server, kind, name))
		}
	}
	for _, name := range env.SortedKeys(now) {
		if locked[name] == "" {
			faults = append(faults, i18n.New("%s: %v %s is not in mcp.lock", "%s：%v %s 不在 mcp.lock 中", server, kind, name))
		}
	}
	return faults
}

// writeVerdicts writes a report for continuous integration, with one test per
// server.
func writeVerdicts(a *env.Env, path, name string, verdicts []verdict) error {
	r := &suite.SuiteResult{Path: name}
	for _, v := range verdicts {
		result := suite.TestResult{Name: v.key, Status: "passed"}
		for _, fault := range v.faults {
			result.Status = "failed"
			result.Problems = append(result.Problems, fault.In(a.Lang))
		}
		r.Results = append(r.Results, result)
	}
	return env.WriteReport(path, func(w io.Writer) error { return suite.WriteJUnit(w, []*suite.SuiteResult{r}) })
}
