package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
)

// suiteFlags are those of test.
type suiteFlags struct {
	probeFlags
	target, junit, report string
	update, watch         bool
}

func (a *app) testCommand() *cobra.Command {
	var f suiteFlags
	cmd := a.probeCommand("test [PATH ...]", a.t("run test files", "运行测试文件"), &f.probeFlags,
		func(cmd *cobra.Command, args []string) error { return a.runTests(cmd, &f, args) })
	cmd.Long = a.t("Run test files (YAML): calls, reads and prompts, with what is expected of the answers.\nWithout a path, those in mcp-tests are run. Exit code 7 says that a test failed.\n\n"+suiteFormat,
		"运行测试文件（YAML）：调用、读取与提示词，以及对回答的期望。\n未指定路径时运行 mcp-tests 中的文件。退出码 7 表示有测试失败。\n\n"+suiteFormat)
	cmd.Example = "  mcp-all-in-one test mcp-tests/github.yaml\n  mcp-all-in-one test --junit report.xml --target https://staging.example.com/mcp\n" +
		"  mcp-all-in-one test record github github\n  mcp-all-in-one test from-traffic 'server:github since:10m' > mcp-tests/github.yaml"
	flags := cmd.Flags()
	flags.StringVar(&f.target, "target", "", a.t("`TARGET` to test instead of the one in the files", "替代文件中的测试目标 `TARGET`"))
	flags.StringVar(&f.junit, "junit", "", a.t("write a JUnit report to `FILE`", "将 JUnit 报告写入 `FILE`"))
	flags.StringVar(&f.report, "report", "", a.t("write a JSON report to `FILE`", "将 JSON 报告写入 `FILE`"))
	flags.BoolVar(&f.update, "update", false, a.t("write the snapshots anew", "更新快照"))
	flags.BoolVar(&f.watch, "watch", false, a.t("run again when a file changes", "文件变化时重新运行"))
	cmd.AddCommand(a.fromTrafficCommand(), a.testRecordCommand())
	return cmd
}

// suiteFormat is a test file that has a bit of everything.
const suiteFormat = `  target: github                # a target; or url: https://…, or command: npx -y …
  protocol: auto                # also: headers: {NAME: $VALUE}, env: {NAME: $VALUE}
  tests:
    - name: search returns items
      call: search_issues       # or read, prompt, complete, list, or request with params
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

func (a *app) runTests(cmd *cobra.Command, f *suiteFlags, paths []string) error {
	var command []string
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		paths, command = paths[:dash], paths[dash:]
	}
	if len(paths) == 0 {
		paths = []string{testFolder}
	}
	if !f.watch {
		return a.testOnce(cmd.Context(), f, paths, command)
	}
	return a.testOnChange(cmd.Context(), f, paths, command)
}

func (a *app) testOnce(ctx context.Context, f *suiteFlags, paths, command []string) error {
	files, err := probe.FindSuites(paths)
	if err != nil {
		return fail(exitUsage, codeUsage, "mcp-all-in-one test FILE.yaml", "%v", err)
	}
	if len(files) == 0 {
		return fail(exitUsage, codeUsage, "", "%s %s", a.t("no test files in", "没有测试文件："), strings.Join(paths, ", "))
	}
	var results []*probe.SuiteResult
	failed := 0
	for _, file := range files {
		suite, err := probe.ReadSuite(file)
		if err != nil {
			return fail(exitUsage, codeUsage, "", "%v", err)
		}
		r, err := a.runSuite(ctx, f, suite, command)
		if err != nil {
			return err
		}
		results = append(results, r)
		failed += r.Failed()
	}
	if err := a.reportTests(f, results); err != nil {
		return err
	}
	if failed > 0 {
		return silent(exitDiffers)
	}
	return nil
}

// runSuite runs one file on one connection.
func (a *app) runSuite(ctx context.Context, f *suiteFlags, s *probe.Suite, command []string) (*probe.SuiteResult, error) {
	flags := f.probeFlags
	m, err := a.aimSuite(ctx, &flags, f.target, s, command)
	if err != nil {
		return nil, err
	}
	answers := &probe.TestAnswers{}
	b, err := a.open(ctx, &flags, m, func(o *probe.Options) { o.Answer = answers })
	if err != nil {
		return nil, err
	}
	defer b.close()
	if !a.asJSON {
		fmt.Fprintf(a.Stdout, "# %s (%s)\n", s.Path, m.label)
	}
	n := 0
	runner := &probe.SuiteRunner{Session: b.Session, Suite: s, Answers: answers, Update: f.update, OnResult: func(r probe.TestResult) {
		n++
		if !a.asJSON {
			a.printTest(n, r)
		}
	}}
	r, err := runner.Run(b.ctx)
	return r, a.probeError(err, m)
}

// aimSuite finds what a file tests: what the command line says, else the file.
func (a *app) aimSuite(ctx context.Context, f *probeFlags, target string, s *probe.Suite, command []string) (*aim, error) {
	for _, name := range sortedKeys(s.Headers) {
		f.headers = append(f.headers, name+": "+os.ExpandEnv(s.Headers[name]))
	}
	for _, name := range sortedKeys(s.Env) {
		f.env = append(f.env, name+"="+os.ExpandEnv(s.Env[name]))
	}
	if f.protocol == "" {
		f.protocol = s.Protocol
	}
	switch {
	case len(command) > 0:
		return a.aimCommand(f, command, nil)
	case target != "":
		return a.aimWord(ctx, f, target, nil)
	case s.Target != "":
		return a.aimWord(ctx, f, s.Target, nil)
	case s.URL != "":
		return a.aimURL(f, s.URL, nil)
	case len(s.Argv()) > 0:
		return a.aimCommand(f, s.Argv(), nil)
	}
	return nil, fail(exitUsage, codeUsage, a.t("write target, url or command into the file, or use --target", "请在文件中写 target、url 或 command，或使用 --target"),
		"%s %s", s.Path, a.t("does not say what is tested", "没有说明测试目标"))
}

func (a *app) printTest(n int, r probe.TestResult) {
	word := "ok"
	if r.Status == "failed" {
		word = "not ok"
	}
	line := fmt.Sprintf("%s %d - %s", word, n, r.Name)
	switch {
	case r.Status == "skipped":
		line += " # SKIP " + strings.Join(r.Problems, "; ")
	case r.Updated:
		line += " # " + a.t("snapshot written", "已写入快照")
	default:
		line += fmt.Sprintf(" # %s ms", milliseconds(r.Took))
	}
	fmt.Fprintln(a.Stdout, line)
	if r.Status == "failed" {
		problems := r.Problems
		if a.lang == i18n.Chinese {
			problems = r.ProblemsZH
		}
		for _, p := range problems {
			fmt.Fprintf(a.Stdout, "    %s\n", strings.ReplaceAll(p, "\n", "\n    "))
		}
	}
}

func (a *app) reportTests(f *suiteFlags, results []*probe.SuiteResult) error {
	total, failed := 0, 0
	for _, r := range results {
		total += len(r.Results)
		failed += r.Failed()
	}
	if a.asJSON {
		writeLine(a.Stdout, map[string]any{"suites": results, "total": total, "failed": failed})
	} else {
		fmt.Fprintf(a.Stdout, a.t("# %d tests, %d failed\n", "# %d 个测试，%d 个失败\n"), total, failed)
	}
	if f.report != "" {
		file, err := os.Create(f.report)
		if err != nil {
			return fail(exitUsage, codeUsage, "", "%v", err)
		}
		writeLine(file, map[string]any{"suites": results, "total": total, "failed": failed})
		if err := file.Close(); err != nil {
			return err
		}
	}
	if f.junit == "" {
		return nil
	}
	file, err := os.Create(f.junit)
	if err != nil {
		return fail(exitUsage, codeUsage, "", "%v", err)
	}
	defer file.Close()
	return probe.WriteJUnit(file, results)
}

// settle collects the changes of one save.
const settle = 100 * time.Millisecond

// testOnChange runs the tests now, and again whenever a file changes.
func (a *app) testOnChange(ctx context.Context, f *suiteFlags, paths, command []string) error {
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
			return fail(exitUsage, codeUsage, "", "%v", err)
		}
	}
	life := newLifetime(ctx)
	defer life.stop()
	for {
		if err := a.testOnce(life.soft, f, paths, command); err != nil {
			a.report(err)
		}
		if !awaitChange(life.soft, watcher) {
			return nil
		}
	}
}

// awaitChange waits for a change that is not one of our own snapshots.
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
