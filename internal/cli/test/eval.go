package test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/variable"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/tester/eval"
	"mcp-all-in-one/internal/tester/suite"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	target.Flags
	target, junit, report string
	model, url, key       string
	modes                 []string
	runs, turns, parallel int
	minRate               float64
	least                 *float64 // minRate, if the flag is given
	record, replay        string
	tape                  eval.Tape
	recorded              *eval.Recording
}

const (
	usualRuns  = 5
	usualTurns = 10
)

// EvalCommand returns the command that measures which tools a model picks.
func EvalCommand(a *env.Env) *cobra.Command {
	var f evalFlags
	cmd := target.NewCommand(a, "eval [PATH ...]", a.T("measure which tools a model picks", "统计模型选择哪些工具"), &f.Flags,
		func(cmd *cobra.Command, args []string) error { return runEvals(a, cmd, &f, args) })
	cmd.Long = a.T("Gives the tasks of test files (YAML) to a model, in each mode of the gateway, and counts how often it picks the\nexpected tool with the expected arguments. The tool that it picks is not called. Without a path, the files in\nmcp-tests are used. Exit code 7 says that fewer runs passed than --min-rate or min_rate asks for.\n\n"+evalFormat,
		"把测试文件（YAML）中的任务交给模型，在网关的每种模式下统计它以预期参数选中预期工具的次数。\n被选中的工具不会被调用。未指定路径时使用 mcp-tests 中的文件。\n退出码 7 表示通过的比例低于 --min-rate 或 min_rate。\n\n"+inChinese.Replace(evalFormat))
	cmd.Example = "  mcp-all-in-one eval mcp-tests/github.yaml --modes full,compact\n" +
		"  mcp-all-in-one eval github.yaml --model-url http://127.0.0.1:11434/v1 --model qwen3:8b --runs 10\n" +
		"  mcp-all-in-one eval github.yaml --record github.model.jsonl\n" +
		"  mcp-all-in-one eval github.yaml --replay github.model.jsonl --min-rate 0.8"
	flags := cmd.Flags()
	flags.StringVar(&f.target, "target", "", a.T("`TARGET` whose tools are shown instead of the one in the files", "替代文件中的目标 `TARGET`"))
	flags.StringVar(&f.url, "model-url", "", a.T("`URL` of an OpenAI-compatible API, up to /chat/completions", "OpenAI 兼容 API 的 `URL`，到 /chat/completions 之前为止"))
	flags.StringVar(&f.model, "model", "", a.T("model `NAME` of the API", "API 中的模型名称 `NAME`"))
	flags.StringVar(&f.key, "key", "", a.T("`VARIABLE` with the key of the API: '${env:NAME}' or '${secret:NAME}'", "存放 API 密钥的变量 `VARIABLE`：'${env:NAME}' 或 '${secret:NAME}'"))
	flags.StringSliceVar(&f.modes, "modes", eval.Modes, a.T("`MODES` in which the tools are shown (full,compact,search,code)", "展示工具的模式 `MODES`（full,compact,search,code）"))
	flags.IntVar(&f.runs, "runs", 0, a.T("give each task `N` times (the number in the file, else 5)", "每个任务运行 `N` 次（以文件为准，否则 5）"))
	flags.IntVar(&f.turns, "turns", 0, a.T("let the model answer `N` times in each run (the number in the file, else 10)", "每次运行中模型最多回答 `N` 轮（以文件为准，否则 10）"))
	flags.IntVar(&f.parallel, "parallel", 1, a.T("make `N` runs at once (1)", "同时进行 `N` 次运行（1）"))
	flags.Float64Var(&f.minRate, "min-rate", 0, a.T("`RATE` of passed runs, 0 to 1, that every row must reach", "每一行必须达到的通过率 `RATE`，0 到 1"))
	flags.StringVar(&f.record, "record", "", a.T("write the answers of the model to `FILE`", "将模型的应答写入 `FILE`"))
	flags.StringVar(&f.replay, "replay", "", a.T("answer from `FILE` instead of asking the model", "由 `FILE` 应答，不询问模型"))
	flags.StringVar(&f.junit, "junit", "", a.T("write a JUnit report to `FILE`", "将 JUnit 报告写入 `FILE`"))
	flags.StringVar(&f.report, "report", "", a.T("write a JSON report to `FILE`", "将 JSON 报告写入 `FILE`"))
	for _, name := range []string{"trace", "direct", "no-history", "max-time", "timeout", "answer", "cap", "root"} {
		flags.Lookup(name).Hidden = true // no server asks questions, and no running gateway is used
	}
	return cmd
}

// evalFormat is an example test file with evals.
const evalFormat = `  target: .                     # all configured servers; or one, or url: https://…, or command: npx -y …
  model:
    url: https://api.openai.com/v1
    name: gpt-5-mini
    key: ${env:OPENAI_API_KEY}  # or ${secret:NAME}; never the key itself
    system: You help at a desk. # said before every task
    params: {temperature: 0}    # sent as they are; also fit: openai, timeout: 2m
  evals:
    - name: finds bugs
      task: Which open bugs does acme/api have?
      expect:                   # the tool, by its own name, and what its arguments are
        tool: github.search_issues   # or several of them
        args: {state: open}     # a part of them; equals: all of them
        jq: .query | test("bug")     # also schema: a JSON Schema
        not: github.delete_repository
      runs: 10
      turns: 6
      min_rate: 0.8             # without one, nothing fails
    - task: Tell Ann how many bugs there are.
      results: {search_issues: 3 bugs}   # what tools answer on the way; nothing is called
      call: never               # readonly calls tools on the way that change nothing
      expect:
        any:
          - {tool: mail.send, args: {to: ann@example.com}}
          - {tool: chat.post, jq: .text | contains("3")}
    - task: Say hello.
      expect: {none: true}`

func runEvals(a *env.Env, cmd *cobra.Command, f *evalFlags, paths []string) error {
	var argv []string
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		paths, argv = paths[:dash], paths[dash:]
	}
	if len(paths) == 0 {
		paths = []string{testFolder}
	}
	if err := f.check(a, cmd); err != nil {
		return err
	}
	suites, err := evalFiles(a, paths)
	if err != nil {
		return err
	}
	if f.replay != "" {
		if f.recorded, err = eval.ReadRecording(f.replay); err != nil {
			return env.Fail(env.ExitUsage, env.CodeUsage, a.Again("eval", "FILE.yaml", "--record", f.replay), "%v", err)
		}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	var results []*eval.Result
	missed := 0
	var failed error
	for _, s := range suites {
		var result *eval.Result
		result, failed = runFile(ctx, a, f, s, argv)
		if result != nil {
			missed += result.Hold(f.least)
			results = append(results, result)
			printEval(a, result)
		}
		if failed != nil {
			break
		}
	}
	if len(results) > 0 { // report the results so far even after a failure
		if err := reportEvals(a, f, results, missed); err != nil {
			return err
		}
	}
	switch {
	case failed != nil:
		return failed
	case f.record != "":
		if err := f.tape.Save(f.record); err != nil {
			return env.Fail(env.ExitUsage, env.CodeUsage, "", "%s: %v", a.T("recording", "录制"), err)
		}
	}
	if missed > 0 {
		return env.Silent(env.ExitDiffers)
	}
	return nil
}

// check refuses flags that conflict.
func (f *evalFlags) check(a *env.Env, cmd *cobra.Command) error {
	for _, mode := range f.modes {
		if !slices.Contains(eval.Modes, mode) {
			return env.Fail(env.ExitUsage, env.CodeUsage, "--modes "+strings.Join(eval.Modes, ","), "%s %q", a.T("there is no mode", "没有模式"), mode)
		}
	}
	if cmd.Flags().Changed("min-rate") {
		if f.minRate < 0 || f.minRate > 1 {
			return env.Fail(env.ExitUsage, env.CodeUsage, "--min-rate 0.8", "%s %v", a.T("--min-rate must be between 0 and 1, not", "--min-rate 应在 0 到 1 之间，而不是"), f.minRate)
		}
		f.least = &f.minRate
	}
	switch {
	case len(f.modes) == 0:
		return command.UsageError(a, cmd, a.T("--modes names none", "--modes 没有给出模式"))
	case f.record != "" && f.replay != "":
		return command.UsageError(a, cmd, a.T("give --record or --replay, not both", "--record 与 --replay 只能给一个"))
	case f.runs < 0 || f.turns < 0 || f.parallel < 1:
		return command.UsageError(a, cmd, a.T("--runs, --turns and --parallel are at least 1", "--runs、--turns 和 --parallel 至少为 1"))
	case f.key != "" && !suite.IsVariable(f.key):
		return env.Fail(env.ExitUsage, env.CodeUsage, "--key '${env:NAME}'", "%s", a.T("--key takes the name of a variable, not the key itself, which others would see in the list of processes", "--key 只接受变量名，而不是密钥本身：其他人能在进程列表中看到它"))
	case f.Trace != "":
		return env.Fail(env.ExitUsage, env.CodeUsage, "--verbose", "%s", a.T("--trace is not there for eval, whose every run is a connection of its own", "eval 没有 --trace：每次运行都是单独的连接"))
	}
	f.Direct = true
	return nil
}

// evalFiles reads the files that contain evals.
func evalFiles(a *env.Env, paths []string) ([]*suite.Suite, error) {
	example := a.Again("eval", "--help") + a.T(" shows a file with evals", " 中有带 evals 的示例文件")
	files, err := suite.FindSuites(paths)
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, example, "%v", err)
	}
	var suites []*suite.Suite
	for _, file := range files {
		s, err := suite.ReadSuite(file)
		if err != nil {
			return nil, env.Fail(env.ExitUsage, env.CodeTestFile, "", "%v", err)
		}
		if len(s.Evals) > 0 {
			suites = append(suites, s)
		}
	}
	if len(suites) == 0 {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, example, "%s %s", a.T("there are no evals in", "没有 evals："), strings.Join(paths, ", "))
	}
	return suites, nil
}

// runFile runs the evals of one file with a new gateway.
func runFile(ctx context.Context, a *env.Env, f *evalFlags, s *suite.Suite, argv []string) (*eval.Result, error) {
	name, model, err := f.modelOf(a, s)
	if err != nil {
		return nil, err
	}
	flags := f.Flags
	m, err := targetSuite(ctx, a, &flags, f.target, s, argv)
	if err != nil {
		return nil, err
	}
	h, err := openStage(ctx, a, &flags, m, s)
	if err != nil {
		return nil, err
	}
	defer h.close()
	if err := h.checkTools(s); err != nil {
		return nil, err
	}
	progress := newEvalProgress(a, f, s)
	r := &eval.Runner{
		Suite: s, Name: name, Model: model, Modes: f.modes, Parallel: f.parallel,
		Runs: eval.Count{Usual: usualRuns, Force: f.runs}, Turns: eval.Count{Usual: usualTurns, Force: f.turns},
		Open: h.open, OnRun: progress.show,
	}
	result, err := r.Run(ctx)
	progress.clear()
	result.Target = m.Label
	return result, evalFailed(a, err, m)
}

// modelOf returns the model that the command line or else the file selects.
func (f *evalFlags) modelOf(a *env.Env, s *suite.Suite) (string, eval.Model, error) {
	said := s.Model
	said.Name = cmp.Or(f.model, said.Name)
	if f.url != "" && f.url != said.URL {
		said.URL, said.Key = f.url, "" // the key in the file belongs to the address in the file
	}
	said.Key = cmp.Or(f.key, said.Key)
	written := said.URL
	parts := []part{{"model.name", &said.Name}, {"model.url", &said.URL}, {"model.key", &said.Key}}
	if f.recorded != nil {
		parts = parts[:1]
	}
	for _, p := range parts {
		if err := p.expand(a, s); err != nil {
			return "", nil, err
		}
	}
	if f.recorded != nil {
		return cmp.Or(said.Name, f.recorded.Name), f.recorded, nil
	}
	for _, missing := range []struct{ text, what, hint string }{
		{said.URL, a.T("does not say where the model is", "没有说明模型的地址"), a.T("write model: {url: URL} into the file, or use --model-url URL", "请在文件中写 model: {url: URL}，或使用 --model-url URL")},
		{said.Name, a.T("does not name a model", "没有给出模型名称"), a.T("write model: {name: NAME} into the file, or use --model NAME", "请在文件中写 model: {name: NAME}，或使用 --model NAME")},
	} {
		if missing.text == "" {
			return "", nil, env.Fail(env.ExitUsage, env.CodeUsage, missing.hint, "%s %s", s.Path, missing.what)
		}
	}
	api, err := eval.NewAPI(said.URL, written, config.Secret(said.Key), said.Patience())
	if err != nil {
		return "", nil, env.Fail(env.ExitUsage, env.CodeUsage, "--model-url http://127.0.0.1:11434/v1", "%v", err)
	}
	if f.record != "" {
		return said.Name, f.tape.Of(api, said.Name), nil
	}
	return said.Name, api, nil
}

// A part is one setting of a model.
type part struct {
	what string
	text *string
}

// expand replaces the variables in a text. All of them must be defined.
func (p part) expand(a *env.Env, s *suite.Suite) error {
	if name, ok := strings.CutPrefix(*p.text, "$"); ok && !strings.HasPrefix(name, "{") {
		*p.text = "${" + name + "}" // the same syntax as in headers of a test file
	}
	o := a.LoadOptions(false).WithDefaults()
	vars := &variable.Resolver{Lookup: o.LookupEnv, Home: o.Home, Work: o.WorkDir, Base: filepath.Dir(s.Path), Secrets: o.Secrets}
	var missing []string
	if *p.text, _, missing = vars.Text(*p.text); len(missing) == 0 {
		return nil
	}
	hint := "export " + missing[0] + "=…"
	if name, ok := strings.CutPrefix(missing[0], "secret:"); ok {
		hint = a.Again("secret", "set", name)
	}
	return env.Fail(env.ExitUsage, env.CodeUsage, hint, "%s: %s %s", p.what, missing[0], a.T("is not there", "不存在"))
}

// evalFailed adds the exit code to an error of a run.
func evalFailed(a *env.Env, err error, m *target.Target) error {
	var stopped *eval.StopError
	if err == nil {
		return nil
	}
	if !errors.As(err, &stopped) {
		return target.Failed(a, err, m)
	}
	e := &env.ExitError{Code: env.ExitFailure, Err: stopped}
	switch stopped.Kind {
	case eval.Unauthorized:
		e.Code, e.ID, e.Hint = env.ExitAuth, env.CodeAuth, a.T("write key: ${env:NAME} below model, or use --key '${env:NAME}'", "请在 model 下写 key: ${env:NAME}，或使用 --key '${env:NAME}'")
	case eval.Unreachable:
		e.Code, e.ID, e.Hint = env.ExitUnreachable, env.CodeUnreachable, a.T("is it running? --model-url URL names another address", "它在运行吗？--model-url URL 可指定其他地址")
	case eval.NotThere:
		e.Code, e.Hint = env.ExitUsage, a.T("--model NAME and --model-url URL; the address usually ends in /v1", "--model NAME 与 --model-url URL；地址通常以 /v1 结尾")
	case eval.Unrecorded:
		e.Code = env.ExitDiffers
	}
	return e
}
