package test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/suite"
)

func CompareCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	var script string
	var ignore []string
	cmd := target.NewCommand(a, "compare TARGET", a.T("compare a server's answers through the gateway with its direct answers", "检查服务器经过网关与直连时的回答是否一致"), &f,
		func(cmd *cobra.Command, args []string) error {
			m, err := target.ParseTarget(a, cmd, &f, args)
			if err != nil {
				return err
			}
			paths, err := ignoredPaths(ignore)
			if err != nil {
				return err
			}
			return compare(cmd.Context(), a, &comparison{env: a, flags: &f, target: m, script: script, ignore: paths})
		})
	cmd.Long = a.T("Sends the same requests directly and through the gateway, for every pair of a client era and a server era,\nand prints where the answers differ. Without a script, it sends all requests that change nothing. Exit code 7 says that there are differences.",
		"把相同的请求直接发给服务器、再经由网关发送，覆盖客户端与服务器新旧协议（legacy、modern）的每一种组合，并输出差异。\n未指定脚本时，发送所有不产生修改的请求。退出码 7 表示有差异。")
	cmd.Example = "  mcp-all-in-one compare github\n  mcp-all-in-one compare github --script mcp-tests/github.yaml --ignore '..|.updated_at?'"
	cmd.Flags().StringVar(&script, "script", "", a.T("test file or recording `FILE` whose requests are sent", "使用测试文件或录制文件 `FILE` 中的请求"))
	cmd.Flags().StringArrayVar(&ignore, "ignore", nil, a.T("`PATH` that is not compared: ..|.updated_at?", "不比较的路径 `PATH`：..|.updated_at?"))
	return cmd
}

// A comparison tests one server over all routes.
type comparison struct {
	env    *env.Env
	flags  *target.Flags
	target *target.Target
	script string
	ignore []probe.Places
	steps  []suite.Step
	direct map[string][]suite.Outcome // by era
}

// A pairing is one route through the gateway, compared with the direct
// connection.
type pairing struct {
	Client string `json:"client"`
	Server string `json:"server"`
	// Against is the era of the direct connection it is compared with.
	Against     string                 `json:"against"`
	Steps       int                    `json:"steps"`
	Differences []suite.StepDifference `json:"differences,omitempty"`
	// Changing are the requests whose direct answer changes by itself.
	Changing []string `json:"changing,omitempty"`
	Failed   string   `json:"failed,omitempty"`
	failed   error
}

var bothEras = []string{mcp.Legacy.String(), mcp.Modern.String()}

func compare(ctx context.Context, a *env.Env, c *comparison) error {
	whole := &target.Connection{} // an interrupt ends all of it, not one of the connections
	ctx = whole.Interruptible(ctx)
	defer whole.End()
	c.direct = make(map[string][]suite.Outcome)
	var last error
	for _, era := range bothEras {
		if err := c.runDirect(ctx, era); err != nil {
			last = err
		}
		if ctx.Err() != nil {
			return target.Failed(a, context.Cause(ctx), c.target)
		}
	}
	if len(c.direct) == 0 {
		return last
	}
	var pairings []pairing
	differ := 0
	for _, server := range c.servers() {
		for _, client := range bothEras {
			p := c.through(ctx, client, server)
			if ctx.Err() != nil {
				return target.Failed(a, context.Cause(ctx), c.target)
			}
			if len(p.Differences) > 0 || p.Failed != "" {
				differ++
			}
			pairings = append(pairings, p)
			printPairing(a, &p)
		}
	}
	env.ShowJSON(a, map[string]any{"pairings": pairings})
	if differ > 0 {
		return env.Silent(env.ExitDiffers)
	}
	return nil
}

// servers returns the eras in which the gateway talks to the server: each era
// that the server supports and, if it supports both, the one that the gateway
// chooses. --protocol selects one of them.
func (c *comparison) servers() []string {
	var eras []string
	if len(c.direct) == len(bothEras) {
		eras = append(eras, "auto")
	}
	for _, era := range bothEras {
		if c.direct[era] != nil {
			eras = append(eras, era)
		}
	}
	if slices.Contains(eras, c.flags.Protocol) {
		return []string{c.flags.Protocol}
	}
	return eras
}

func printPairing(a *env.Env, p *pairing) {
	if a.JSON {
		return
	}
	mark := "✓"
	if len(p.Differences) > 0 || p.Failed != "" {
		mark = "✗"
	}
	fmt.Fprintf(a.Stdout, a.T(env.Many(p.Steps, "%s client %s → server %s (against direct %s): %d request\n", "%s client %s → server %s (against direct %s): %d requests\n"), "%s 客户端 %s → 服务器 %s（对照直连 %s）：%d 个请求\n"),
		mark, p.Client, p.Server, p.Against, p.Steps)
	if p.Failed != "" {
		fmt.Fprintf(a.Stdout, "    %s\n", a.Lang.Of(p.failed))
	}
	for _, name := range p.Changing {
		fmt.Fprintf(a.Stdout, a.T("    %s changes by itself, which is no difference\n", "    %s 的回答自身会变化，不算差异\n"), name)
	}
	for _, s := range p.Differences {
		fmt.Fprintf(a.Stdout, "    %s\n", s.Step)
		for _, d := range s.Differences {
			fmt.Fprintf(a.Stdout, "        %s\n", d.In(a.Lang))
		}
	}
}

// runDirect runs the script without the gateway.
func (c *comparison) runDirect(ctx context.Context, era string) error {
	return c.directly(ctx, era, func(b *target.Connection, answers *suite.TestAnswers) (err error) {
		if c.steps == nil {
			if c.steps, err = c.makeScript(b); err != nil {
				return target.Failed(c.env, err, b.To)
			}
		}
		c.direct[era] = suite.RunSteps(b.Ctx, b.Session, c.steps, answers)
		return nil
	})
}

// directly connects without the gateway and calls run.
func (c *comparison) directly(ctx context.Context, era string, run func(*target.Connection, *suite.TestAnswers) error) error {
	f, m := *c.flags, *c.target
	f.Protocol, f.Direct = era, true
	answers := &suite.TestAnswers{}
	b, err := target.Open(ctx, c.env, &f, &m, func(o *probe.Options) { answers.Stand(o) })
	if err != nil {
		return err
	}
	defer b.End()
	return run(b, answers)
}

// setAside sends the requests that differ again without the gateway, if they
// change nothing. Where the direct answer differs from the first one too, it
// changes by itself.
func (c *comparison) setAside(ctx context.Context, p *pairing, ignore []probe.Places) error {
	var steps []suite.Step
	var first []suite.Outcome
	var at []int
	for _, d := range p.Differences {
		if c.script == "" || c.steps[d.At].Method == mcp.MethodResourcesRead {
			steps, first, at = append(steps, c.steps[d.At]), append(first, c.direct[p.Against][d.At]), append(at, d.At)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return c.directly(ctx, p.Against, func(b *target.Connection, answers *suite.TestAnswers) error {
		changes, err := suite.CompareOutcomes(steps, first, suite.RunSteps(b.Ctx, b.Session, steps, answers), ignore)
		for i := range changes {
			changes[i].At = at[changes[i].At]
		}
		p.Differences, p.Changing = suite.SetAside(p.Differences, changes)
		return err
	})
}

func (c *comparison) makeScript(b *target.Connection) ([]suite.Step, error) {
	if c.script == "" {
		return suite.Walk(b.Ctx, b.Session)
	}
	suite, err := suite.ReadScript(c.script)
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeTestFile, "", "%v", err)
	}
	return suite.Steps(b.Ctx)
}

// through runs the script through a new gateway.
func (c *comparison) through(ctx context.Context, client, server string) pairing {
	p := pairing{Client: client, Server: server, Against: client, Steps: len(c.steps)}
	if c.direct[client] == nil {
		p.Against = server
	}
	outcomes, err := c.runThrough(ctx, client, server)
	ignore := c.ignore
	if err == nil && p.Against != client {
		var execution probe.Places // how a tool runs as a task: exists in one era only
		execution, err = probe.ParsePlaces(".tools[].execution")
		ignore = append(slices.Clone(ignore), execution)
	}
	if err == nil {
		p.Differences, err = suite.CompareOutcomes(c.steps, c.direct[p.Against], outcomes, ignore)
	}
	if err == nil {
		err = c.setAside(ctx, &p, ignore)
	}
	if err != nil {
		p.Failed, p.failed = err.Error(), err
	}
	return p
}

func (c *comparison) runThrough(ctx context.Context, client, server string) ([]suite.Outcome, error) {
	cfg, err := c.gatewayConfig(server)
	if err != nil {
		return nil, err
	}
	in, err := instance.New(context.WithoutCancel(ctx), instance.Options{
		Config: cfg, Log: target.QuietLog(), Level: new(slog.LevelVar), Name: c.env.Personality.Name, Schema: config.DefaultSchema,
	})
	if err != nil {
		return nil, err
	}
	defer in.End(ctx)
	f := *c.flags
	f.Protocol = client
	m := &target.Target{Label: c.target.Label}
	answers := &suite.TestAnswers{}
	m.Probe = target.InProcess(in, m.Label, config.DefaultSchema, cfg.Schemas[0].Servers[0].Name)
	b, err := target.Open(ctx, c.env, &f, m, func(o *probe.Options) { answers.Stand(o) })
	if err != nil {
		return nil, err
	}
	defer b.End()
	return suite.RunSteps(b.Ctx, b.Session, c.steps, answers), nil
}

// compareWait is how long the gateway waits for a server to start. Only the
// responses are compared, not their timing: a server that is still starting would
// lack everything.
const compareWait = 5 * time.Minute

// gatewayConfig returns a configuration that has only the target, with a fixed
// era.
func (c *comparison) gatewayConfig(protocol string) (*config.Config, error) {
	m := c.target
	s, err := m.AsServer(c.env, c.flags, "target")
	if err != nil {
		return nil, err
	}
	if m.Server != nil {
		*s = *m.Server
	}
	s.Schema, s.Protocol, s.Enabled = config.DefaultSchema, protocol, true
	cfg, err := config.Check("", []byte(`{"mcpServers":{}}`), c.env.LoadOptions(false))
	if err != nil {
		return nil, err
	}
	cfg.StartWait, cfg.Limits.Handshake = compareWait, compareWait
	schema := config.NewSchema(config.DefaultSchema)
	schema.Servers = []*config.Server{s}
	cfg.Schemas = []*config.Schema{schema}
	return cfg, nil
}
