package console

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/bench"
)

// consoleBench opens the tester sessions of the console, with the same tester
// as the command line.
type consoleBench struct{ in *instance.Instance }

// open connects a principal to the target that the page names. Calls that bypass
// the gateway are recorded here; the gateway records the others.
func (c *consoleBench) open(ctx context.Context, who access.Principal, t *bench.Target, opt probe.Options) (*probe.Session, error) {
	target, err := c.target(who, t)
	if err != nil {
		return nil, err
	}
	opt.Offer = c.offer(t)
	opt.Launcher, opt.MaxMessage, opt.Log = c.in.Launcher, c.in.Config.Limits.ServerMessage, c.in.Log
	opt.Handshake = c.in.Config.Limits.Handshake
	past := &direct{in: c.in, who: who, target: t}
	if t.Via == bench.ViaGateway {
		opt.Measure = c.in.Measure(who)
	} else {
		opt.Record = past.record
	}
	began := time.Now()
	session, err := probe.Open(ctx, target, opt)
	if t.Via != bench.ViaGateway {
		past.opened(began, err)
	}
	return session, err
}

// target returns the target that the page names: a configured server, this
// gateway, or any other server.
func (c *consoleBench) target(who access.Principal, t *bench.Target) (probe.Target, error) {
	schema := cmp.Or(t.Schema, config.DefaultSchema)
	snapshot := c.in.Set.Snapshot()
	if s := snapshot.Config.Schema(schema); s != nil && s.Server(t.Server) != nil && s.Server(t.Server).Type == config.TypeScripts {
		t.Via = bench.ViaGateway // only the gateway can run scripts
	}
	switch {
	case t.Via == bench.ViaGateway:
		return c.in.Target(schema, gateway.Opening{Who: who, Via: traffic.DoorConsole, Schema: schema, Server: t.Server}), nil
	case t.Server != "":
		s := snapshot.Config.Schema(schema)
		if s == nil || s.Server(t.Server) == nil || !who.MaySee(schema, t.Server, "") {
			return probe.Target{}, i18n.Errorf("server %q: %w", "服务器 %q：%w", t.Server, api.ErrNotFound)
		}
		server := s.Server(t.Server)
		switch {
		case server.Pending:
			return probe.Target{}, i18n.Errorf("server %q has not been approved", "服务器 %q 尚未批准", t.Server)
		case len(server.Missing) > 0:
			return probe.Target{}, i18n.Errorf("server %q uses variables that are not set: %v", "服务器 %q 使用了未定义的变量：%v", t.Server, server.Missing)
		}
		return probe.TargetOf(server, os.Environ()), nil
	case t.Command != "":
		env, _ := stdio.Environ(os.Environ(), t.Command, stdio.Inherit{}, t.Env)
		target := probe.Target{Name: t.Command, Command: t.Command, Args: t.Args, Env: env, Cwd: t.Cwd}
		for _, v := range t.Env {
			target.Secrets = append(target.Secrets, v)
		}
		return target, nil
	case t.URL != "":
		target := probe.Target{Name: t.URL, URL: t.URL, Type: t.Type, Header: make(http.Header)}
		for k, v := range t.Headers {
			target.Header.Set(k, v)
			target.Secrets = append(target.Secrets, v)
		}
		return target, nil
	}
	return probe.Target{}, i18n.Errorf("nothing to connect to was named", "没有指定要连接的目标")
}

// offer returns the client capabilities that the page offers to servers, or
// those of the imitated client.
func (c *consoleBench) offer(t *bench.Target) *mcp.Offer {
	if t.As != "" {
		for _, client := range c.in.Gateway.Clients() {
			if client.Session == t.As {
				offer := client.Offer
				return &offer
			}
		}
	}
	if t.Offer == nil {
		return nil
	}
	var o mcp.Offer
	for _, name := range t.Offer {
		o.Add(name) // the page offers only names that there are
	}
	return &o
}
