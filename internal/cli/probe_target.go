package cli

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/web"
)

// A aim is what one command of the tester talks to: a server, and what is left
// of the command line.
type aim struct {
	target probe.Target
	label  string
	// merged is the gateway's own view of a schema; server is set where it is
	// one of its servers.
	merged bool
	schema string
	cfg    *config.Config
	server *config.Server
	// like is the connected client whose view is meant. Where via is set, only
	// that gateway can be asked.
	like *web.Client
	via  *remote
	rest []string
}

// aim finds the target: a command after --, a URL, the point, a connected
// client, or a configured name, of which name.tool is short for name tool.
func (a *app) aim(cmd *cobra.Command, f *probeFlags, args []string) (*aim, error) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if dash == len(args) {
			return nil, a.usageError(cmd, a.t("a command is missing after --", "-- 之后缺少命令"))
		}
		return a.aimCommand(f, args[dash:], args[:dash])
	}
	if len(args) == 0 {
		return nil, a.usageError(cmd, a.t("a target is missing", "缺少目标"))
	}
	return a.aimWord(cmd.Context(), f, args[0], args[1:])
}

func (a *app) aimWord(ctx context.Context, f *probeFlags, word string, rest []string) (*aim, error) {
	if strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://") {
		return a.aimURL(f, word, rest)
	}
	if name, ok := strings.CutPrefix(word, "@"); ok {
		return a.aimClient(ctx, f, name, rest)
	}
	cfg, running, err := a.loadOrRunning(ctx, f, word == ".")
	if head, _, _ := strings.Cut(word, "."); err != nil && head == demoServer {
		cfg, err = a.demoAlone(err)
	}
	if err != nil {
		return nil, err
	}
	schema, err := a.stdioSchema(cfg, f.schema)
	if err != nil {
		return nil, err
	}
	m := &aim{cfg: cfg, schema: schema, rest: rest, label: word, via: running}
	if word == "." {
		m.merged = true
		return m, nil
	}
	servers := cfg.Schema(schema)
	name, tool := word, ""
	if servers.Server(name) == nil {
		name, tool = splitName(servers, word)
	}
	if m.server = servers.Server(name); m.server == nil {
		return nil, a.unknownServer(cfg, schema, word)
	}
	if tool != "" {
		m.rest = append([]string{tool}, rest...)
	}
	m.label = name
	if running != nil {
		return m, nil
	}
	return m, a.aimServer(f, m)
}

// splitName cuts name.tool where a server has that name.
func splitName(schema *config.Schema, word string) (name, tool string) {
	for i := range word {
		if word[i] == '.' && i+1 < len(word) && schema.Server(word[:i]) != nil {
			name, tool = word[:i], word[i+1:]
		}
	}
	return name, tool
}

func (a *app) unknownServer(cfg *config.Config, schema, word string) error {
	names := cfg.Schema(schema).Names()
	head, _, _ := strings.Cut(word, ".")
	hint := a.t("a target is a configured name, a URL, . or -- COMMAND", "目标可以是已配置的名称、URL、. 或 -- 命令")
	if near := spelling.Nearest(head, names); near != "" {
		hint = a.t("did you mean ", "是否要用 ") + near + a.t("?", "？")
	}
	if head == demoServer {
		hint = a.t("the demo server stands in only where no server is configured; start it with: -- mcp-all-in-one demo", "演示服务只在没有配置服务时代替；可用以下方式启动：-- mcp-all-in-one demo")
	}
	for _, s := range cfg.Schemas {
		if name, _ := splitName(s, word); s.Server(word) != nil || s.Server(name) != nil {
			hint = a.t("it is in another schema: --schema ", "它在另一个 schema 中：--schema ") + s.Name
			break
		}
	}
	return &exitError{code: exitUsage, id: codeNoServer, hint: hint,
		err: i18n.Errorf("no configured server is called %q", "没有名为 %q 的已配置服务", word),
		details: []detail{
			{a.t("config", "配置"), cfg.Path}, {a.t("servers", "服务"), strings.Join(names, ", ")},
		}}
}

// aimServer is a configured server, with what the command line adds.
func (a *app) aimServer(f *probeFlags, m *aim) error {
	s := *m.server
	if err := a.usable(&s); err != nil {
		return err
	}
	env, secrets, err := f.environment(a)
	if err != nil {
		return err
	}
	s.Env = cloneSecrets(s.Env, env)
	header, more, err := f.header(a)
	if err != nil {
		return err
	}
	s.Headers = cloneSecrets(s.Headers, nil)
	for name := range header {
		s.Headers[name] = config.Secret(header.Get(name))
	}
	if f.cwd != "" {
		s.Cwd = f.cwd
	}
	if f.protocol == "" {
		f.protocol = s.Protocol
	}
	m.target = probe.TargetOf(&s, os.Environ())
	m.target.Secrets = slices.Concat(m.target.Secrets, secrets, more)
	return nil
}

func cloneSecrets(base map[string]config.Secret, more map[string]string) map[string]config.Secret {
	out := make(map[string]config.Secret, len(base)+len(more))
	for k, v := range base {
		out[k] = v
	}
	for k, v := range more {
		out[k] = config.Secret(v)
	}
	return out
}

func (a *app) aimURL(f *probeFlags, url string, rest []string) (*aim, error) {
	header, secrets, err := f.header(a)
	if err != nil {
		return nil, err
	}
	kind := config.TypeAuto
	switch f.transport {
	case "":
	case config.TypeHTTP, config.TypeSSE:
		kind = f.transport
	default:
		return nil, fail(exitUsage, codeUsage, "--transport http|sse", "%s %q", a.t("unknown transport", "未知的传输方式"), f.transport)
	}
	return &aim{label: url, rest: rest, target: probe.Target{Name: url, URL: url, Type: kind, Header: header, Secrets: secrets}}, nil
}

func (a *app) aimCommand(f *probeFlags, command, rest []string) (*aim, error) {
	own, secrets, err := f.environment(a)
	if err != nil {
		return nil, err
	}
	// Whoever types a command starts it with what his shell would give it.
	env, _ := stdio.Environ(os.Environ(), stdio.Inherit{All: true}, own)
	return &aim{label: strings.Join(command, " "), rest: rest, target: probe.Target{
		Name: command[0], Command: command[0], Args: command[1:], Env: env, Cwd: f.cwd, Secrets: secrets,
	}}, nil
}

// A bout is one open connection of the tester.
type bout struct {
	*probe.Session
	app     *app
	aim     *aim
	flags   *probeFlags
	ctx     context.Context
	closers []func()
	// status asks the gateway behind the merged view how its servers are.
	status func() (statusPage, error)
	// ignoreInterrupts leaves interrupts to somebody else.
	ignoreInterrupts func()
}

// open connects to what is aimed at. The first interrupt cancels what runs,
// the second ends the program.
func (a *app) open(ctx context.Context, f *probeFlags, m *aim, adjust func(*probe.Options)) (*bout, error) {
	opt, err := f.options(a)
	if err != nil {
		return nil, err
	}
	b := &bout{app: a, aim: m, flags: f}
	b.ctx = b.interruptible(ctx)
	launcher, err := newLauncher()
	if err != nil {
		return nil, err
	}
	opt.Launcher = launcher
	b.onClose(func() { launcher.Close() })
	if err := b.route(&opt); err != nil {
		b.close()
		return nil, err
	}
	if err := b.watch(&opt); err != nil {
		b.close()
		return nil, err
	}
	if adjust != nil {
		adjust(&opt)
	}
	b.Session, err = probe.Open(b.ctx, m.target, opt)
	if err != nil {
		b.close()
		return nil, a.probeError(err, m)
	}
	if opt.LogLevel != "" && b.Info().Has("logging") {
		if err := b.SetLevel(b.ctx, opt.LogLevel); err != nil {
			b.close()
			return nil, a.probeError(err, m)
		}
	}
	return b, nil
}

// interruptible cancels with a cause that says who did it.
func (b *bout) interruptible(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt)
	done := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case <-signals:
				if !first {
					os.Exit(exitInterrupted)
				}
				cancel(probe.ErrCancelled)
			case <-done:
				return
			}
		}
	}()
	stop := sync.OnceFunc(func() { signal.Stop(signals); close(done) })
	b.ignoreInterrupts = stop
	b.onClose(func() { stop(); cancel(nil) })
	return ctx
}

func (b *bout) onClose(f func()) { b.closers = append(b.closers, f) }

func (b *bout) close() {
	if b.Session != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), farewell)
		defer cancel()
		b.Session.Close(ctx)
	}
	for _, f := range slices.Backward(b.closers) {
		f()
	}
	b.closers = nil
}

// quietLog is the log of a gateway that lives for one call only: what goes
// wrong is told by the call.
func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
