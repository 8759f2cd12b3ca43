package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
)

// ServeStdio serves the client on standard input and output until it
// disconnects, shuts down, or a signal arrives.
func ServeStdio(ctx context.Context, a *env.Env, f ServeFlags) error {
	cfg, err := a.LoadForServe()
	if err != nil {
		return err
	}
	f.apply(cfg)
	schema, err := env.StdioSchema(a, cfg, f.Schema)
	if err != nil {
		return err
	}
	log, level, closeLog, err := f.Log.Open(a, cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	warn(a, log, cfg)
	life := instance.NewLifetime(ctx)
	defer life.Stop()
	in, err := instance.New(life.Hard, instance.Options{
		Config: cfg, Log: log, Level: level, Name: a.Personality.Name, Schema: schema, Exit: life.Finish, SelfConfig: !f.NoSelfConfig, Count: true, Load: a.LoadOptions(false),
	})
	if err != nil {
		return err
	}
	defer in.Close(life.Hard)
	reload := NewReloader(in, a, f)
	reload.start(life)
	defer reload.stop()
	if !f.Log.Silent {
		stdioWelcome(a, cfg, &f, schema)
	}
	return serveClient(in, life, StandardStream(a, cfg), schema, log, &framingHint{env: a})
}

// serveClient serves the only client over a stream. When the client
// disconnects, running calls finish first.
func serveClient(in *instance.Instance, life *instance.Lifetime, stream jsonrpc.Stream, schema string, log *slog.Logger, hint *framingHint) error {
	client := make(instance.LateClient, 1)
	s, err := in.Gateway.Open(gateway.Opening{Who: access.Local, Schema: schema, Stdio: true, Session: true, Client: client})
	if err != nil {
		return err
	}
	defer s.Close()
	conn := duplex.NewConn(stream, duplex.ConnOptions{
		Handler: &instance.Greeter{Session: s}, Strict: true, MaxInFlight: in.Config.Limits.InFlightPerSession, Limits: scanLimits(&in.Config.Limits),
		Batch:        func() bool { v := s.Version(); return v == "" || mcp.Rules(v).Batch },
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		OnEnd: in.Gateway.Stop, // the client no longer reads
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

// finishClient waits for running calls within the bound.
func finishClient(ctx context.Context, in *instance.Instance, conn *duplex.Conn) {
	in.Draining.Store(true)
	in.Gateway.Drain()
	in.Gateway.Stop()
	ctx, cancel := context.WithTimeout(ctx, in.Config.Limits.Drain)
	defer cancel()
	if left := conn.Drain(ctx, mcp.ShutsDown(), mcp.CutShort); left > 0 {
		in.Log.Warn("ending with calls in flight", "calls", left)
	}
}
