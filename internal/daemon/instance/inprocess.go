package instance

import (
	"context"
	"os"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/traffic"
)

// LateClient is the client of a session whose connection is known only after
// the session is opened.
type LateClient chan *duplex.Conn

func (c LateClient) conn() *duplex.Conn {
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

// Target returns this gateway as a target of the tester, which becomes a client
// with the rights and settings of an opening.
func (in *Instance) Target(name string, o gateway.Opening) probe.Target {
	return probe.Target{Name: name, Dial: func(context.Context) (jsonrpc.Stream, func(), error) {
		ours, theirs := duplex.Pipe()
		client := make(LateClient, 1)
		o.Stdio, o.Session, o.Client = in.greeting != nil, true, client
		s, err := in.Gateway.Open(o)
		if err != nil {
			return nil, nil, err
		}
		conn := duplex.NewConn(theirs, duplex.ConnOptions{
			Handler: s, Strict: true, MaxInFlight: in.Config.Limits.InFlightPerSession,
			CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		})
		client <- conn
		return ours, func() { conn.Close(); s.Close() }, nil
	}}
}

// Measured returns the times of the newest call of a method since began, from a
// gateway's traffic record: on the client's hop and on the server's.
func Measured(calls []traffic.Call, method string, began time.Time) (m probe.Measurement, ok bool) {
	for _, c := range calls { // newest first
		if c.Hop == traffic.HopClient && !c.FromServer && c.Method == method && !c.Start.Before(began) && c.Status != traffic.StatusPending {
			m.Record = c.ID
			m.Gateway = c.Total
			break
		}
	}
	if m.Record == 0 {
		return m, false
	}
	for _, c := range calls {
		if c.Parent == m.Record && c.Hop == traffic.HopServer {
			m.Server += c.Total
		}
	}
	m.Gateway = max(m.Gateway-m.Server, 0)
	return m, true
}

// RecentCalls is how many recent calls of the record are searched.
const RecentCalls = 100

// Measure returns a function that reads the traffic record of this gateway,
// limited to the calls of a principal.
func (in *Instance) Measure(who access.Principal) func(method string, began time.Time) (probe.Measurement, bool) {
	own := (&traffic.Filter{}).Only(func(c *traffic.Call) bool { return who.Owns(c.Owner) })
	return func(method string, began time.Time) (probe.Measurement, bool) {
		if in.Traffic == nil {
			return probe.Measurement{}, false
		}
		calls, _ := in.Traffic.List(own, 0, RecentCalls)
		return Measured(calls, method, began)
	}
}

// patience is how long a server may take to exit after its input ends. Many never
// exit, and a person waits.
const patience = 500 * time.Millisecond

// NewLauncher returns a launcher for one command.
func NewLauncher() (*stdio.Launcher, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, i18n.Errorf("finding our own program: %w", "查找本程序失败：%w", err)
	}
	return stdio.NewLauncher(stdio.LauncherOptions{Exe: exe, StdinGrace: patience}), nil
}

// End stops a gateway that ran for one command.
func (in *Instance) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*patience)
	defer cancel()
	in.Close(ctx)
}
