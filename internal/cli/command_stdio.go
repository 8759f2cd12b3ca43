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

func stdioCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     "stdio",
		Short:   a.t("serve one client over standard input and output", "通过标准输入输出服务一个客户端"),
		Args:    noArgs(a),
		Example: "  mcp-all-in-one stdio --mcp-config ~/.mcp-all-in-one/mcp.json\n  mcp-all-in-one stdio --schema workspace",
		RunE:    func(cmd *cobra.Command, _ []string) error { return serveStdio(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.schema, "schema", "", a.t("schema `NAME` to serve (default)", "要提供的 schema `NAME`（default）"))
	flags.BoolVar(&f.watch, "watch", false, a.t("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.noSelfConfig, "no-self-config", false, a.t("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.StringVar(&f.compat, "compat", "", a.t("`DIALECT`: auto, seed or spec", "方言 `DIALECT`：auto、seed 或 spec"))
	addLogFlags(&f.log, a, flags)
	return cmd
}

// serveStdio serves the client at the other end of our pipes until it hangs
// up, says goodbye, or a signal comes.
func serveStdio(ctx context.Context, a *app, f serveFlags) error {
	cfg, err := a.loadForServe()
	if err != nil {
		return err
	}
	f.apply(cfg)
	schema, err := stdioSchema(a, cfg, f.schema)
	if err != nil {
		return err
	}
	log, level, closeLog, err := f.log.open(a, cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	warn(a, log, cfg)
	life := newLifetime(ctx)
	defer life.stop()
	in, err := newInstance(life.hard, instanceOptions{
		cfg: cfg, log: log, level: level, name: a.personality.name, schema: schema, exit: life.finish, selfConfig: !f.noSelfConfig, load: a.loadOptions(false),
	})
	if err != nil {
		return err
	}
	defer in.close(life.hard)
	reload := newReloader(in, a, f)
	reload.start(life)
	defer reload.stop()
	if !f.log.silent {
		stdioWelcome(a, cfg, schema)
	}
	return serveClient(in, life, standardStream(a, cfg), schema, log, &framingHint{app: a})
}

// serveClient talks to the one client over a stream. When the client hangs up,
// what is in flight finishes first.
func serveClient(in *instance, life *lifetime, stream jsonrpc.Stream, schema string, log *slog.Logger, hint *framingHint) error {
	client := make(lateClient, 1)
	s, err := in.gateway.Open(gateway.Opening{Who: access.Local, Schema: schema, Stdio: true, Session: true, Client: client})
	if err != nil {
		return err
	}
	defer s.Close()
	conn := jsonrpc.NewConn(stream, jsonrpc.ConnOptions{
		Handler: &greeter{Session: s}, Strict: true, MaxInFlight: in.cfg.Limits.InFlightPerSession, Limits: scanLimits(&in.cfg.Limits),
		Batch:        func() bool { v := s.Version(); return v == "" || mcp.Rules(v).Batch },
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		OnEnd: in.gateway.Stop, // nobody listens any more
		OnDropped: func(reason string, head []byte) {
			hint.see(head)
			log.Debug("ignoring what the client sent", "reason", reason, "head", fmt.Sprintf("%.200q", head))
		},
	})
	client <- conn
	select {
	case <-conn.Done():
	case <-life.soft.Done():
		finishClient(life.hard, in, conn)
	}
	return conn.Close()
}

// finishClient lets what is in flight end within the bound.
func finishClient(ctx context.Context, in *instance, conn *jsonrpc.Conn) {
	in.draining.Store(true)
	in.gateway.Drain()
	in.gateway.Stop()
	ctx, cancel := context.WithTimeout(ctx, in.cfg.Limits.Drain)
	defer cancel()
	last := mcp.Failure(mcp.Draining, "", "the gateway is shutting down")
	if left := conn.Drain(ctx, last); left > 0 {
		in.log.Warn("ending with calls in flight", "calls", left)
	}
}

// stdioSchema is the schema that a stdio session serves.
func stdioSchema(a *app, cfg *config.Config, name string) (string, error) {
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
	if a.personality.plain {
		said = i18n.Plain(said.String()) // the words that scripts look for
	}
	e := &exitError{
		code: exitFailure, id: codeNoSchema, plain: a.personality.plain, err: i18n.Errorf("%v", "%v", said),
		hint: a.t("use --schema with one of them", "使用 --schema 指定其中之一"),
	}
	if schema != nil {
		e.id = codeSchemaOff
		e.hint = a.t("enable it in "+cfg.Path, "在 "+cfg.Path+" 中启用它")
	}
	if a.personality.example != "" {
		e.details = []detail{{a.t("example", "示例"), a.personality.example}}
	}
	return "", e
}

// lateClient is the client of a session, known only after the session was
// made.
type lateClient chan *jsonrpc.Conn

func (c lateClient) conn() *jsonrpc.Conn {
	conn := <-c
	c <- conn
	return conn
}

func (c lateClient) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return c.conn().Call(ctx, req)
}

func (c lateClient) Notify(ctx context.Context, n *jsonrpc.Notification) error {
	return c.conn().Notify(ctx, n)
}
