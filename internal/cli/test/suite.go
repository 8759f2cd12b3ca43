// Package test implements the commands that test a server: test, record,
// replay, mock, load, diff, lint and compare.
package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/suite"
)

// suiteFlags are the flags of test.
type suiteFlags struct {
	target.Flags
	target, junit, report string
	update, watch         bool
}

func TestCommand(a *env.Env) *cobra.Command {
	var f suiteFlags
	cmd := target.NewCommand(a, "test [PATH ...]", a.T("run test files", "运行测试文件"), &f.Flags,
		func(cmd *cobra.Command, args []string) error { return runTests(a, cmd, &f, args) })
	cmd.Long = a.T("Runs test files (YAML): calls, reads and prompts, with what is expected of the answers.\nWithout a path, the files in mcp-tests are run. Exit code 7 says that a test failed.\n\n"+suiteFormat,
		"运行测试文件（YAML）：调用、读取与提示词，以及对回答的期望。\n未指定路径时运行 mcp-tests 中的文件。退出码 7 表示有测试失败。\n\n"+inChinese.Replace(suiteFormat))
	cmd.Example = "  mcp-all-in-one test mcp-tests/github.yaml\n  mcp-all-in-one test --junit report.xml --target https://staging.example.com/mcp\n" +
		"  mcp-all-in-one test record github github\n  mcp-all-in-one test from-traffic 'server:github since:10m' > mcp-tests/github.yaml"
	flags := cmd.Flags()
	flags.StringVar(&f.target, "target", "", a.T("`TARGET` to test instead of the one in the files", "替代文件中的测试目标 `TARGET`"))
	flags.StringVar(&f.junit, "junit", "", a.T("write a JUnit report to `FILE`", "将 JUnit 报告写入 `FILE`"))
	flags.StringVar(&f.report, "report", "", a.T("write a JSON report to `FILE`", "将 JSON 报告写入 `FILE`"))
	flags.BoolVar(&f.update, "update", false, a.T("rewrite the snapshots", "更新快照"))
	flags.BoolVar(&f.watch, "watch", false, a.T("run again when a file changes", "文件变化时重新运行"))
	cmd.AddCommand(fromTrafficCommand(a), testRecordCommand(a))
	return cmd
}

// suiteFormat is an example test file.
const suiteFormat = `  target: github                # a target; or url: https://…, or command: npx -y …
  protocol: auto                # also: headers: {NAME: $VALUE}, env: {NAME: $VALUE}
  tests:
    - name: search returns items
      call: search_issues       # or read, prompt, complete, list, or request with params;
                                # with target: . also script, JavaScript that calls tools
      args: {query: bug, per_page: 5}
      answer: {elicitation: {confirm: true}, sampling: Hello}
      timeout: 10s
      expect:                   # all of it must hold
        is_error: false         # or error: CODE or a part of the message
        schema: output          # or a JSON Schema
        jq: .total_count > 0    # or several
        contains: bug           # also not_contains, text, equals
        snapshot: {ignore: ["..|.updated_at?"]}
        max_ms: 2000            # also max_bytes, max_tokens
        sent: {has: params.name, not_has: params._meta, equals: {method: tools/call}}
        progress: 1             # at least so many
        asked: elicitation`

// inChinese translates the comments of suiteFormat and evalFormat. A comment
// comes before its own prefixes.
var inChinese = strings.NewReplacer(
	"# a target; or url: https://…, or command: npx -y …", "# 目标；也可写 url: https://… 或 command: npx -y …",
	"# also: headers: {NAME: $VALUE}, env: {NAME: $VALUE}", "# 还有 headers: {NAME: $VALUE}、env: {NAME: $VALUE}",
	"# or read, prompt, complete, list, or request with params;", "# 或 read、prompt、complete、list，或带 params 的 request；",
	"# with target: . also script, JavaScript that calls tools", "# target 为 . 时还可用 script：调用工具的 JavaScript",
	"# all of it must hold", "# 须全部满足",
	"# or error: CODE or a part of the message", "# 或 error: 错误码或消息的一部分",
	"# or a JSON Schema", "# 或 JSON Schema",
	"# or several of them", "# 可写多个",
	"# or several", "# 可写多条",
	"# also not_contains, text, equals", "# 还有 not_contains、text、equals",
	"# also max_bytes, max_tokens", "# 还有 max_bytes、max_tokens",
	"# at least so many", "# 至少这么多次",

	"# all configured servers; or one, or url: https://…, or command: npx -y …", "# 所有已配置的服务器；也可写其中一个，或 url: https://…、command: npx -y …",
	"# or ${secret:NAME}; never the key itself", "# 或 ${secret:NAME}；切勿直接写密钥",
	"# said before every task", "# 每个任务之前的系统提示",
	"# sent as they are; also fit: openai, timeout: 2m", "# 原样发送；还有 fit: openai、timeout: 2m",
	"# the tool, by its own name, and what its arguments are", "# 工具（用其自身的名称）及其参数",
	"# a part of them; equals: all of them", "# 部分参数；equals 为全部参数",
	"# also schema: a JSON Schema", "# 还有 schema：JSON Schema",
	"# without one, nothing fails", "# 不写则不会判为失败",
	"# what tools answer on the way; nothing is called", "# 途中各工具的回答；不会真正调用",
	"# readonly calls tools on the way that change nothing", "# readonly 会调用途中的只读工具",
)

func runTests(a *env.Env, cmd *cobra.Command, f *suiteFlags, paths []string) error {
	var command []string
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		paths, command = paths[:dash], paths[dash:]
	}
	if len(paths) == 0 {
		paths = []string{testFolder}
	}
	if !f.watch {
		return testOnce(cmd.Context(), a, f, paths, command)
	}
	return testOnChange(cmd.Context(), a, f, paths, command)
}

func testOnce(ctx context.Context, a *env.Env, f *suiteFlags, paths, command []string) error {
	files, err := suite.FindSuites(paths)
	if err != nil {
		return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one test FILE.yaml", "%v", err)
	}
	if len(files) == 0 {
		return env.Fail(env.ExitUsage, env.CodeUsage, "", "%s %s", a.T("no test files in", "没有测试文件："), strings.Join(paths, ", "))
	}
	var results []*suite.SuiteResult
	failed := 0
	for _, file := range files {
		suite, err := suite.ReadSuite(file)
		if err != nil {
			return env.Fail(env.ExitUsage, env.CodeTestFile, "", "%v", err)
		}
		if len(suite.Evals) > 0 && !a.JSON {
			fmt.Fprintf(a.Stderr, a.T("%s has evals, which are for a model: %s\n", "%s 含有 evals，由模型执行：%s\n"), file, a.Again("eval", file))
		}
		if len(suite.Tests) == 0 {
			continue
		}
		r, err := runSuite(ctx, a, f, suite, command)
		if err != nil {
			return err
		}
		results = append(results, r)
		failed += r.Failed()
	}
	if err := reportTests(a, f, results); err != nil {
		return err
	}
	if failed > 0 {
		return env.Silent(env.ExitDiffers)
	}
	return nil
}

// runSuite runs one file on one connection.
func runSuite(ctx context.Context, a *env.Env, f *suiteFlags, s *suite.Suite, command []string) (*suite.SuiteResult, error) {
	flags := f.Flags
	m, err := targetSuite(ctx, a, &flags, f.target, s, command)
	if unknown, ok := errors.AsType[*env.ExitError](err); ok && unknown.ID == env.CodeNoServer && f.target == "" {
		unknown.Details = append([]env.Detail{{Label: a.T("file", "文件"), Text: s.Path}}, unknown.Details...)
	}
	if err != nil {
		return nil, err
	}
	answers := &suite.TestAnswers{}
	b, err := target.Open(ctx, a, &flags, m, func(o *probe.Options) { o.Answer = answers })
	if err != nil {
		return nil, err
	}
	defer b.End()
	if !a.JSON {
		fmt.Fprintf(a.Stdout, "# %s (%s)\n", s.Path, m.Label)
	}
	n := 0
	runner := &suite.SuiteRunner{Session: b.Session, Suite: s, Answers: answers, Update: f.update, OnResult: func(r suite.TestResult) {
		n++
		if !a.JSON {
			printTest(a, n, r)
		}
	}}
	r, err := runner.Run(b.Ctx)
	return r, target.Failed(a, err, m)
}

// targetSuite returns the target of a file: from the command line, or else from
// the file.
func targetSuite(ctx context.Context, a *env.Env, f *target.Flags, word string, s *suite.Suite, command []string) (*target.Target, error) {
	for _, name := range env.SortedKeys(s.Headers) {
		f.Headers = append(f.Headers, name+": "+os.ExpandEnv(s.Headers[name]))
	}
	for _, name := range env.SortedKeys(s.Env) {
		f.Env = append(f.Env, name+"="+os.ExpandEnv(s.Env[name]))
	}
	f.Protocol = cmp.Or(f.Protocol, s.Protocol)
	switch {
	case len(command) > 0:
		return target.TargetCommand(a, f, command, nil)
	case word != "":
		return target.TargetWord(ctx, a, f, word, nil)
	case s.Target != "":
		return target.TargetWord(ctx, a, f, s.Target, nil)
	case s.URL != "":
		return target.TargetURL(a, f, s.URL, nil)
	case len(s.Argv()) > 0:
		return target.TargetCommand(a, f, s.Argv(), nil)
	}
	return nil, env.Fail(env.ExitUsage, env.CodeTestFile, a.T("write target, url or command into the file, or use --target", "请在文件中写 target、url 或 command，或使用 --target"),
		"%s %s", s.Path, a.T("does not say what is tested", "没有说明测试目标"))
}

func printTest(a *env.Env, n int, r suite.TestResult) {
	word := "ok"
	if r.Status == "failed" {
		word = "not ok"
	}
	line := fmt.Sprintf("%s %d - %s", word, n, r.Name)
	switch {
	case r.Status == "skipped":
		line += " # SKIP " + strings.Join(r.Problems, "; ")
	case r.Updated:
		line += " # " + a.T("snapshot written", "已写入快照")
	default:
		line += fmt.Sprintf(" # %s ms", output.Milliseconds(r.Took))
	}
	fmt.Fprintln(a.Stdout, line)
	if r.Status == "failed" {
		problems := r.Problems
		if a.Lang == i18n.Chinese {
			problems = r.ProblemsZH
		}
		for _, p := range problems {
			fmt.Fprintf(a.Stdout, "    %s\n", strings.ReplaceAll(p, "\n", "\n    "))
		}
	}
}

func reportTests(a *env.Env, f *suiteFlags, results []*suite.SuiteResult) error {
	total, failed := 0, 0
	for _, r := range results {
		total += len(r.Results)
		failed += r.Failed()
	}
	body := map[string]any{"suites": results, "total": total, "failed": failed}
	if !env.ShowJSON(a, body) {
		fmt.Fprintf(a.Stdout, a.T(env.Many(total, "# %d test, %d failed\n", "# %d tests, %d failed\n"), "# %d 个测试，%d 个失败\n"), total, failed)
	}
	if f.report != "" {
		if err := env.WriteReport(f.report, func(w io.Writer) error { return env.WriteLine(w, body) }); err != nil {
			return err
		}
	}
	if f.junit == "" {
		return nil
	}
	return env.WriteReport(f.junit, func(w io.Writer) error { return suite.WriteJUnit(w, results) })
}

// settle is the time to wait for further changes of the same save.
const settle = 100 * time.Millisecond

// testOnChange runs the tests now, and again after every change of a file.
func testOnChange(ctx context.Context, a *env.Env, f *suiteFlags, paths, command []string) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			path = filepath.Dir(path)
		}
		if err := watcher.Add(path); err != nil {
			return env.Fail(env.ExitUsage, env.CodeUsage, "", "%v", err)
		}
	}
	life := instance.NewLifetime(ctx)
	defer life.Stop()
	for {
		if err := testOnce(life.Soft, a, f, paths, command); err != nil {
			a.Report(err)
		}
		if !awaitChange(life.Soft, watcher) {
			return nil
		}
	}
}

// awaitChange waits for a change of a file that is not a snapshot written by
// us.
func awaitChange(ctx context.Context, watcher *fsnotify.Watcher) bool {
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case e := <-watcher.Events:
			if !strings.HasSuffix(e.Name, ".snap") {
				quiet = time.After(settle)
			}
		case <-watcher.Errors:
		case <-quiet:
			return true
		}
	}
}
