package manage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/lint"
	"mcp-all-in-one/internal/tester/suite"
)

// A replay sends the same requests to two versions of a server.
type replay struct {
	Requests    int                    `json:"requests"`
	Differences []suite.StepDifference `json:"differences"`
	Changing    []string               `json:"changing,omitempty"` // the locked version itself answers differently each time
	Failed      []string               `json:"failed,omitempty"`   // with both versions
	Skipped     []string               `json:"skipped,omitempty"`  // they may change something
	Note        string                 `json:"note,omitempty"`     // why there are no requests

	note  i18n.Text
	file  bool // a person has named the requests
	steps []suite.Step
}

// findReplay returns the requests of a test file or a recording, or those that
// a running gateway recorded of the server.
func findReplay(ctx context.Context, a *env.Env, s *config.Server, path string) (*replay, error) {
	r := &replay{Differences: []suite.StepDifference{}, file: path != ""}
	var script *suite.Suite
	var err error
	if r.file {
		script, err = suite.ReadScript(path)
	} else if script, err = recordedCalls(ctx, a, s); script == nil && err == nil {
		r.leave(i18n.New("no gateway that runs has recorded calls of %s; --replay FILE takes a test file or a recording", "没有正在运行的网关记录过 %s 的调用；可用 --replay FILE 指定测试文件或录制文件", s.Name))
		return r, nil
	}
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeTestFile, "", "--replay: %v", err)
	}
	r.steps, err = script.Steps(ctx)
	return r, err
}

// recordedCalls returns the calls of a server that a running gateway recorded;
// nil if there are none.
func recordedCalls(ctx context.Context, a *env.Env, s *config.Server) (*suite.Suite, error) {
	running, err := control.RunningHere(ctx, a)
	if err != nil {
		return nil, nil
	}
	var draft struct {
		Calls int    `json:"calls"`
		Text  string `json:"text"`
	}
	if err := running.Post(ctx, "/api/v1/suites/draft", map[string]string{"q": "server:" + s.Name + " schema:" + s.Schema}, &draft); err != nil || draft.Calls == 0 {
		return nil, err
	}
	return suite.ParseSuite(s.Name, []byte(draft.Text))
}

// leave sends no requests, for a reason.
func (r *replay) leave(why i18n.Text) {
	r.note, r.steps = why, nil
	r.Note = why.In(i18n.English)
}

// A side is one of the two versions that run.
type side struct {
	in    *instance.Instance
	shown lint.Features
}

// readsOnly reports whether a request changes nothing, as all sides say.
func readsOnly(step *suite.Step, sides ...side) bool {
	switch step.Method {
	case mcp.MethodToolsCall:
		name, _ := jsonrpc.GetString(step.Params, "name")
		return !slices.ContainsFunc(sides, func(v side) bool {
			return string(jsonrpc.Get(v.shown["tools"][name], "annotations", "readOnlyHint")) != "true"
		})
	case mcp.MethodResourcesRead, mcp.MethodPromptsGet:
		return true
	}
	return step.List != nil
}

// run sends the requests to both versions and compares the answers. Calls of
// tools that are not read-only in both are left out, unless a person has named
// the requests. The locked version gets what is read-only twice, which shows the
// answers that change by themselves.
func (r *replay) run(ctx context.Context, s *config.Server, locked, newer side) error {
	var twice []suite.Step
	var at []int
	r.steps = slices.DeleteFunc(r.steps, func(step suite.Step) bool {
		if !r.file && !readsOnly(&step, locked, newer) {
			r.Skipped = append(r.Skipped, step.Name)
			return true
		}
		return false
	})
	for i := range r.steps {
		if readsOnly(&r.steps[i], locked, newer) {
			twice, at = append(twice, r.steps[i]), append(at, i)
		}
	}
	old, err := locked.send(ctx, s, append(slices.Clone(r.steps), twice...))
	if err != nil {
		return err
	}
	now, err := newer.send(ctx, s, r.steps)
	if err != nil {
		return err
	}
	old, again := old[:len(now)], old[len(now):]
	found, err := suite.CompareOutcomes(r.steps, old, now, nil)
	if err != nil {
		return err
	}
	first := make([]suite.Outcome, len(at))
	for i := range at {
		first[i] = old[at[i]]
	}
	changes, err := suite.CompareOutcomes(twice, first, again, nil)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].At = at[changes[i].At]
	}
	found, r.Changing = suite.SetAside(found, changes)
	r.Requests, r.Differences = len(r.steps), append(r.Differences, found...)
	for i := range r.steps {
		if old[i].Result == nil && now[i].Result == nil {
			r.Failed = append(r.Failed, r.steps[i].Name)
		}
	}
	return nil
}

// send sends requests to the server, as a client of the gateway.
func (v side) send(ctx context.Context, s *config.Server, steps []suite.Step) ([]suite.Outcome, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	answers, opt := &suite.TestAnswers{}, probe.Options{}
	answers.Stand(&opt)
	session, err := probe.Open(ctx, target.InProcess(v.in, s.Name, s.Schema, s.Name), opt)
	if err != nil {
		return nil, err
	}
	defer session.Close(ctx)
	return suite.RunSteps(ctx, session, steps, answers), nil
}

func (r *replay) print(a *env.Env) {
	if r.Note != "" {
		fmt.Fprintln(a.Stdout, a.T("replayed: nothing, because ", "未重放：")+r.note.In(a.Lang))
		return
	}
	fmt.Fprintf(a.Stdout, a.T("replayed requests: %d, answers that differ: %d\n", "重放的请求：%d，回答不同：%d\n"), r.Requests, len(r.Differences))
	for _, s := range r.Differences {
		fmt.Fprintln(a.Stdout, "  ~ "+i18n.Seen(s.Step))
		for _, d := range s.Differences {
			fmt.Fprintln(a.Stdout, "      "+i18n.Seen(d.In(a.Lang)))
		}
	}
	for _, list := range []struct {
		what  string
		names []string
	}{
		{a.T("changes by itself, which is no difference", "回答自身会变化，不算差异"), r.Changing},
		{a.T("failed with both versions", "两个版本都失败"), r.Failed},
		{a.T("not replayed, because the tool is not read-only in both versions", "未重放（工具并非在两个版本中都只读）"), r.Skipped},
	} {
		if len(list.names) > 0 {
			fmt.Fprintln(a.Stdout, "  "+list.what+a.T(": ", "：")+i18n.Seen(strings.Join(list.names, ", ")))
		}
	}
}
