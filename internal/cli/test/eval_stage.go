package test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
	"mcp-all-in-one/internal/tester/eval"
	"mcp-all-in-one/internal/tester/suite"
)

const (
	// startLimit is the maximum time for servers to start.
	startLimit = 5 * time.Minute
	// noteAfter is when the user gets a note that the command is waiting.
	noteAfter = 2 * time.Second
)

// A stage is a gateway in which tool calls are rehearsed; only lookups are
// real.
type stage struct {
	env    *env.Env
	flags  *target.Flags
	target *target.Target
	in     *instance.Instance
	schema string
	who    access.Principal
	tools  []string // as SERVER.TOOL
}

// openStage starts the servers of a target and waits until they list their
// tools.
func openStage(ctx context.Context, a *env.Env, f *target.Flags, m *target.Target, s *suite.Suite) (*stage, error) {
	grant, err := access.ParseScopes([]string{"fit:" + cmp.Or(s.Model.Fit, "openai")})
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, "", "%s: %v", "model.fit", err)
	}
	cfg, schema, err := m.Hosting(a, f)
	if err != nil {
		return nil, err
	}
	alone := *cfg
	alone.Cluster, alone.Access = config.Cluster{}, config.Access{} // no access for others, no cluster
	in, err := instance.New(context.WithoutCancel(ctx), instance.Options{Config: &alone, Log: target.QuietLog(), Level: new(slog.LevelVar), Name: a.Personality.Name})
	if err != nil {
		return nil, err
	}
	h := &stage{env: a, flags: f, target: m, in: in, schema: schema, who: access.Local}
	h.who.Fit = grant.Fit
	wait, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	soon, cancelSoon := context.WithTimeout(ctx, noteAfter)
	defer cancelSoon()
	if in.Settled(soon); soon.Err() != nil && ctx.Err() == nil {
		fmt.Fprintln(a.Stderr, a.T("waiting for the servers to start", "正在等待服务器启动"))
		in.Settled(wait)
	}
	if ctx.Err() != nil {
		h.close()
		return nil, target.Failed(a, context.Cause(ctx), m)
	}
	if h.tools = h.learn(); len(h.tools) == 0 {
		h.close()
		return nil, &env.ExitError{Code: env.ExitUnreachable, ID: env.CodeUnreachable, Err: i18n.Errorf("%s shows no tools", "%s 没有工具", m.Label), Hint: h.commandLine("inspect")}
	}
	return h, nil
}

func (h *stage) close() { h.in.End(context.Background()) }

// learn returns the tools that clients see, and prints which servers are
// missing.
func (h *stage) learn() []string {
	var names []string
	view := h.in.Set.Snapshot().Schema(h.schema)
	for _, u := range view.Upstreams {
		source := catalog.Source{Server: u.Name(), Features: u.Features(nil), Policy: u.Policy()}
		if u.Absent() {
			continue
		}
		if source.Features == nil {
			st := u.Status()
			fmt.Fprintf(h.env.Stderr, h.env.T("without the tools of %s: %s\n", "不含 %s 的工具：%s\n"), u.Name(), i18n.Seen(cmp.Or(st.Reason.In(h.env.Lang), string(st.State))))
			continue
		}
		for _, ref := range catalog.Merge([]catalog.Source{source}, catalog.Options{}).ToolsOf(u.Name(), catalog.View{}) {
			names = append(names, ref.Server+"."+ref.Name)
		}
	}
	return names
}

// checkTools refuses evals about unknown tools, because they could only fail.
func (h *stage) checkTools(s *suite.Suite) error {
	for i := range s.Evals {
		for _, name := range s.Evals[i].Tools() {
			if slices.ContainsFunc(h.tools, func(known string) bool { return known == name || strings.HasSuffix(known, "."+name) }) {
				continue
			}
			hint := h.commandLine("list", "tools")
			if near := spelling.Nearest(name, append(ownNames(h.tools), h.tools...)); near != "" {
				hint = h.env.T("did you mean ", "是否要用 ") + near + h.env.T("?", "？")
			}
			return &env.ExitError{Code: env.ExitUsage, ID: env.CodeUsage, Hint: hint,
				Err: i18n.Errorf("%s: eval %q: %s has no tool %q", "%s：eval %q：%s 没有工具 %q", s.Path, s.Evals[i].Name, h.target.Label, name)}
		}
	}
	return nil
}

// commandLine returns a command line about the target.
func (h *stage) commandLine(words ...string) string {
	if s := h.target.Server; s != nil && s.Name == target.Alone && s.Command != "" {
		return h.env.Again(append(append(words, "--", s.Command), s.Args...)...)
	}
	return h.env.Again(append(words, h.target.Label)...)
}

// ownNames returns the names of tools without their servers.
func ownNames(tools []string) []string {
	names := make([]string, len(tools))
	for i, name := range tools {
		_, names[i], _ = strings.Cut(name, ".")
	}
	return names
}

// open opens a client session at the gateway that sees the tools in a mode.
func (h *stage) open(ctx context.Context, mode string, rehearse func(eval.Pick) *jsonrpc.Response) (*probe.Session, func(), error) {
	who := h.who
	who.Mode = mode
	m := &target.Target{Label: h.target.Label, Probe: h.in.Target(h.target.Label, gateway.Opening{
		Who: who, Schema: h.schema, Rehearse: func(p gateway.Pick) *jsonrpc.Response { return rehearse(eval.Pick(p)) },
	})}
	flags := *h.flags
	b, err := target.Open(ctx, h.env, &flags, m, func(o *probe.Options) { o.Offer, o.Answer = &mcp.Offer{}, probe.Decline })
	if err != nil {
		return nil, nil, err
	}
	return b.Session, b.End, nil
}
