package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

func StdioCommand(a *Env) *cobra.Command {
	var f ServeFlags
	cmd := &cobra.Command{
		Use:     "stdio",
		Short:   a.T("serve one client over standard input and output", "通过标准输入输出服务一个客户端"),
		Args:    NoArgs(a),
		Example: "  mcp-all-in-one stdio --mcp-config ~/.mcp-all-in-one/mcp.json\n  mcp-all-in-one stdio --schema workspace",
		RunE:    func(cmd *cobra.Command, _ []string) error { return ServeStdio(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Schema, "schema", "", a.T("schema `NAME` to serve (default)", "要提供的 schema `NAME`（default）"))
	flags.BoolVar(&f.Watch, "watch", false, a.T("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.NoSelfConfig, "no-self-config", false, a.T("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.StringVar(&f.Compat, "compat", "", a.T("`DIALECT`: auto, seed or spec", "方言 `DIALECT`：auto、seed 或 spec"))
	AddLogFlags(&f.Log, a, flags)
	return cmd
}

// ServeStdio serves the client at the other end of our pipes until it hangs
// up, says goodbye, or a signal comes.
func ServeStdio(ctx context.Context, a *Env, f ServeFlags) error {
	cfg, err := a.LoadForServe()
	if err != nil {
		return err
	}
	f.apply(cfg)
	schema, err := StdioSchema(a, cfg, f.Schema)
	if err != nil {
		return err
	}
	log, level, closeLog, err := f.Log.Open(a, cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	warn(a, log, cfg)
	life := NewLifetime(ctx)
	defer life.Stop()
	in, err := New(life.Hard, Options{
		Config: cfg, Log: log, Level: level, Name: a.Personality.Name, Schema: schema, Exit: life.Finish, SelfConfig: !f.NoSelfConfig, Load: a.LoadOptions(false),
	})
	if err != nil {
		return err
	}
	defer in.Close(life.Hard)
	reload := NewReloader(in, a, f)
	reload.start(life)
	defer reload.stop()
	if !f.Log.Silent {
		stdioWelcome(a, cfg, schema)
	}
	return serveClient(in, life, StandardStream(a, cfg), schema, log, &framingHint{app: a})
}

// serveClient talks to the one client over a stream. When the client hangs up,
// what is in flight finishes first.
func serveClient(in *Instance, life *Lifetime, stream jsonrpc.Stream, schema string, log *slog.Logger, hint *framingHint) error {
	client := make(LateClient, 1)
	s, err := in.Gateway.Open(gateway.Opening{Who: access.Local, Schema: schema, Stdio: true, Session: true, Client: client})
	if err != nil {
		return err
	}
	defer s.Close()
	conn := jsonrpc.NewConn(stream, jsonrpc.ConnOptions{
		Handler: &Greeter{Session: s}, Strict: true, MaxInFlight: in.Config.Limits.InFlightPerSession, Limits: scanLimits(&in.Config.Limits),
		Batch:        func() bool { v := s.Version(); return v == "" || mcp.Rules(v).Batch },
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		OnEnd: in.Gateway.Stop, // nobody listens any more
		OnDropped: func(reason string, head []byte) {
			hint.see(head)
			log.Debug("ignoring what the client sent", "reason", reason, "head", fmt.Sprintf("%.200q", head))
		},
	})
	client <- conn
	select {
	case <-conn.Done():
	case <-life.Soft.Done():
		finishClient(life.Hard, in, conn)
	}
	return conn.Close()
}

// finishClient lets what is in flight end within the bound.
func finishClient(ctx context.Context, in *Instance, conn *jsonrpc.Conn) {
	in.Draining.Store(true)
	in.Gateway.Drain()
	in.Gateway.Stop()
	ctx, cancel := context.WithTimeout(ctx, in.Config.Limits.Drain)
	defer cancel()
	last := mcp.Failure(mcp.Draining, "", "the gateway is shutting down")
	if left := conn.Drain(ctx, last); left > 0 {
		in.Log.Warn("ending with calls in flight", "calls", left)
	}
}

// StdioSchema is the schema that a stdio session serves.
func StdioSchema(a *Env, cfg *config.Config, name string) (string, error) {
	if name == "" {
		name = config.DefaultSchema
		if cfg.Schema(name) == nil && len(cfg.Schemas) == 1 {
			name = cfg.Schemas[0].Name
		}
	}
	schema := cfg.Schema(name)
	if schema != nil && schema.Enabled {
		return name, nil
	}
	said := i18n.New("Schema '%s' not found. Available schemas: %s", "没有 schema '%s'。现有：%s", name, strings.Join(cfg.Names(), ", "))
	if schema != nil {
		said = i18n.New("Schema '%s' is disabled in configuration", "schema '%s' 在配置中已停用", name)
	}
	if a.Personality.Plain {
		said = i18n.Plain(said.String()) // the words that scripts look for
	}
	e := &ExitError{
		Code: ExitFailure, ID: codeNoSchema, Plain: a.Personality.Plain, Err: i18n.Errorf("%v", "%v", said),
		Hint: a.T("use --schema with one of them", "使用 --schema 指定其中之一"),
	}
	if schema != nil {
		e.ID = codeSchemaOff
		e.Hint = a.T("enable it in "+cfg.Path, "在 "+cfg.Path+" 中启用它")
	}
	if a.Personality.example != "" {
		e.Details = []Detail{{a.T("example", "示例"), a.Personality.example}}
	}
	return "", e
}

// LateClient is the client of a session, known only after the session was
// made.
type LateClient chan *jsonrpc.Conn

func (c LateClient) conn() *jsonrpc.Conn {
	conn := <-c
	c <- conn
	return conn
}

func (c LateClient) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return c.conn().Call(ctx, req)
}

func (c LateClient) Notify(ctx context.Context, n *jsonrpc.Notification) error {
	return c.conn().Notify(ctx, n)
}
