// Package target connects a command to the server it is about: it parses the
// words and flags that name the server, opens the connection and explains its
// errors.
package target

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/typed"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/spelling"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/web"
)

// A Target is the server that a command of the tester talks to, and the rest of
// the command line.
type Target struct {
	Probe probe.Target
	Label string
	// merged selects the gateway's own view of a schema. Server is set if the
	// target is one server of it.
	merged bool
	// hosted requires a gateway in between, even for one server.
	hosted bool
	schema string
	cfg    *config.Config
	Server *config.Server
	// like is the connected client whose view is wanted. If via is set, only
	// that gateway can be asked.
	like *web.Client
	via  *control.Remote
	Rest []string
}

// ParseTarget parses the target: a command after --, a URL, a dot, a connected
// client, or a configured name. name.tool is short for name tool.
func ParseTarget(a *env.Env, cmd *cobra.Command, f *Flags, args []string) (*Target, error) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if dash == len(args) {
			return nil, command.UsageError(a, cmd, a.T("a command is missing after --", "-- 之后缺少命令"))
		}
		return TargetCommand(a, f, args[dash:], args[:dash])
	}
	if len(args) == 0 {
		return nil, Missing(a, cmd)
	}
	return TargetWord(cmd.Context(), a, f, args[0], args[1:])
}

// Missing returns the error for a command line without a target.
func Missing(a *env.Env, cmd *cobra.Command) error {
	return command.UsageError(a, cmd, a.T("name a server, or . for all of them", "请指定服务器，或用 . 表示全部"))
}

func TargetWord(ctx context.Context, a *env.Env, f *Flags, word string, rest []string) (*Target, error) {
	if strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://") {
		return TargetURL(a, f, word, rest)
	}
	if name, ok := strings.CutPrefix(word, "@"); ok {
		return targetClient(ctx, a, f, name, rest)
	}
	cfg, running, err := loadOrRunning(ctx, a, f, word == ".")
	if head, _, _ := strings.Cut(word, "."); err != nil && head == env.DemoServer {
		cfg, err = env.DemoAlone(a, err)
	}
	if err != nil {
		return nil, err
	}
	schema, word := env.SplitSchema(cfg, f.Schema, word)
	schema, err = env.StdioSchema(a, cfg, schema)
	if err != nil {
		return nil, err
	}
	m := &Target{cfg: cfg, schema: schema, Rest: rest, Label: word, via: running}
	if word == "." {
		m.merged = true
		return m, nil
	}
	servers := cfg.Schema(schema)
	name, tool := word, ""
	if servers.Server(name) == nil {
		name, tool = splitName(servers, word)
	}
	if m.Server = servers.Server(name); m.Server == nil {
		return nil, unknownServer(a, cfg, schema, word)
	}
	if tool != "" {
		m.Rest = append([]string{tool}, rest...)
	}
	m.Label = name
	if running != nil {
		return m, nil
	}
	return m, targetServer(a, f, m)
}

// splitName splits name.tool if a server has that name.
func splitName(schema *config.Schema, word string) (name, tool string) {
	for i := range word {
		if word[i] == '.' && i+1 < len(word) && schema.Server(word[:i]) != nil {
			name, tool = word[:i], word[i+1:]
		}
	}
	return name, tool
}

func unknownServer(a *env.Env, cfg *config.Config, schema, word string) error {
	names := cfg.Schema(schema).Names()
	head, _, _ := strings.Cut(word, ".")
	hint := a.T("a target is a configured name, a URL, . or -- COMMAND", "目标可以是已配置的名称、URL、. 或 -- 命令")
	if near := spelling.Nearest(head, names); near != "" {
		hint = a.T("did you mean ", "是否要用 ") + near + a.T("?", "？")
	}
	if at := typed.Address(word); at != "" && strings.ContainsAny(word, ":/") {
		hint = a.T("did you mean ", "是否要用 ") + at + a.T("?", "？")
	}
	if head == env.DemoServer {
		hint = a.T("the demo server runs only where no server is configured; start it with: -- mcp-all-in-one demo", "演示服务器只在没有配置服务器时运行；可用以下方式启动：-- mcp-all-in-one demo")
	}
	for _, s := range cfg.Schemas {
		if name, _ := splitName(s, word); s.Server(word) != nil || s.Server(name) != nil {
			hint = a.T("it is in another schema: --schema ", "它在另一个 schema 中：--schema ") + s.Name
			break
		}
	}
	return &env.ExitError{Code: env.ExitUsage, ID: env.CodeNoServer, Hint: hint,
		Err: i18n.Errorf("no configured server is called %q", "没有名为 %q 的已配置服务器", word),
		Details: []env.Detail{
			{Label: a.T("config", "配置"), Text: cfg.Path}, {Label: a.T("servers", "服务器"), Text: strings.Join(names, ", ")},
		}}
}

// targetServer sets up a configured server, with additions from the command
// line.
func targetServer(a *env.Env, f *Flags, m *Target) error {
	s := *m.Server
	if err := a.Usable(&s); err != nil {
		return err
	}
	env, secrets, err := f.Environment(a)
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
	f.Protocol = cmp.Or(f.Protocol, s.Protocol)
	m.Server, m.Probe = &s, probe.TargetOf(&s, os.Environ())
	m.Probe.Secrets = slices.Concat(m.Probe.Secrets, secrets, more)
	return nil
}

func cloneSecrets(base map[string]config.Secret, more map[string]string) map[string]config.Secret {
	out := make(map[string]config.Secret, len(base)+len(more))
	maps.Copy(out, base)
	for k, v := range more {
		out[k] = config.Secret(v)
	}
	return out
}

func TargetURL(a *env.Env, f *Flags, url string, rest []string) (*Target, error) {
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
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, "--transport http|sse", "%s %q", a.T("unknown transport", "未知的传输方式"), f.transport)
	}
	return &Target{Label: url, Rest: rest, Probe: probe.Target{Name: url, URL: url, Type: kind, Header: header, Secrets: secrets}}, nil
}

func TargetCommand(a *env.Env, f *Flags, command, rest []string) (*Target, error) {
	own, secrets, err := f.Environment(a)
	if err != nil {
		return nil, err
	}
	// A typed command gets the environment that the user's shell would give it.
	env, _ := stdio.Environ(os.Environ(), command[0], stdio.Inherit{All: true}, own)
	return &Target{Label: i18n.Command(command...), Rest: rest, Probe: probe.Target{
		Name: command[0], Command: command[0], Args: command[1:], Env: env, Cwd: f.cwd, Secrets: secrets,
	}}, nil
}

// A Connection is an open connection of the tester.
type Connection struct {
	*probe.Session
	Env     *env.Env
	To      *Target
	Flags   *Flags
	Ctx     context.Context
	closers []func()
	// status returns the state of the servers of the gateway behind the merged
	// view.
	status func() (control.StatusPage, error)
	// running is the running gateway that makes the calls; nil if there is none.
	running *control.Remote
	// IgnoreInterrupts stops the handling of interrupts by this connection.
	IgnoreInterrupts func()
}

// Open connects to the target. The first interrupt cancels the running request,
// the second ends the program.
func Open(ctx context.Context, a *env.Env, f *Flags, m *Target, adjust func(*probe.Options)) (*Connection, error) {
	opt, err := f.options(a)
	if err != nil {
		return nil, err
	}
	b := &Connection{Env: a, To: m, Flags: f}
	b.Ctx = b.Interruptible(ctx)
	env.OutlivePipe() // the session is ended first
	launcher, err := instance.NewLauncher()
	if err != nil {
		return nil, err
	}
	opt.Launcher = launcher
	b.OnClose(func() { launcher.Close() })
	if err := b.Route(&opt); err != nil {
		b.End()
		return nil, err
	}
	if err := b.Watch(&opt); err != nil {
		b.End()
		return nil, err
	}
	if adjust != nil {
		adjust(&opt)
	}
	noted := b.noteStart()
	b.Session, err = probe.Open(b.Ctx, m.Probe, opt)
	noted()
	if err != nil {
		b.End()
		return nil, Failed(a, err, m)
	}
	if opt.LogLevel != "" && b.Info().Has("logging") {
		if err := b.SetLevel(b.Ctx, opt.LogLevel); err != nil {
			b.End()
			return nil, Failed(a, err, m)
		}
	}
	return b, nil
}

// Interruptible returns a context that the first interrupt cancels, with the
// cause probe.ErrCancelled. The second interrupt ends the program.
func (b *Connection) Interruptible(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt)
	done := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case <-signals:
				if !first {
					os.Exit(env.ExitInterrupted)
				}
				cancel(probe.ErrCancelled)
			case <-done:
				return
			}
		}
	}()
	stop := sync.OnceFunc(func() { signal.Stop(signals); close(done) })
	b.IgnoreInterrupts = stop
	b.OnClose(func() { stop(); cancel(nil) })
	return ctx
}

func (b *Connection) OnClose(f func()) { b.closers = append(b.closers, f) }

func (b *Connection) End() {
	if b.Session != nil {
		b.Session.Close(b.Ctx)
	}
	for _, f := range slices.Backward(b.closers) {
		f()
	}
	b.closers = nil
}

// QuietLog returns the log of a gateway that lives only for one call. Errors
// are reported by the call.
func QuietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
