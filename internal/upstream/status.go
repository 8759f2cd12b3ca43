package upstream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/observed"
	"mcp-all-in-one/internal/upstream/pin"
)

// A Status describes a server for the user.
type Status struct {
	Name, Schema, Type string
	State              State
	Reason             i18n.Text
	PerUser            bool // it works for users who have set their values
	KeyRefused         bool // the server refuses the key of its entry
	Since              time.Time
	Version, Era       string
	PID                int
	Restarts           int
	Running, Queued    int64
	Connections        int
	ServerInfo         []byte // raw
	Capabilities       []byte // raw
	Instructions       string
	Tools, Prompts     int
	Resources          int
	Templates          int
	Replica            string       // the replica that runs it, if not this one
	Sandbox            string       // what is confined; "" if nothing is
	Installer          string       // the program that may still be downloading the server at its first start
	Changed            []pin.Change // definitions that differ from the approved ones
	Replaced           bool         // a changed entry waits for approval to replace it
	observed.Report
}

// Status describes the upstream now.
func (u *Upstream) Status() Status {
	cfg := u.Config()
	s := Status{Name: u.name, Schema: u.schema, Type: cfg.Type, Replaced: cfg.Waiting != nil, Running: u.queue.Running(), Queued: u.queue.Waiting(), Report: u.observed.Report()}
	u.condition.describe(&s)
	if cfg.Type == config.TypeStdio {
		s.Sandbox = sandbox.Summary(cfg.Sandbox)
	}
	if s.State == Starting && s.Reason.Empty() && u.mayDownload() {
		s.Installer = filepath.Base(cfg.Command)
	}
	s.Connections = u.slots.connected()
	if l := u.primary.current(); l != nil {
		s.Connections++
		s.Version, s.Era = l.said.Version, l.era.String()
		s.ServerInfo, s.Capabilities, s.Instructions = l.said.Info, l.said.Capabilities, l.said.Instructions
		if l.child != nil {
			s.PID = l.child.PID()
		}
	}
	if spot, once := u.Spot(); once {
		s.Replica = spot.Node
	}
	s.Changed = u.pins.List()
	if f := u.primary.features.Load(); f != nil {
		s.Tools, s.Prompts, s.Resources, s.Templates = len(f.Tools), len(f.Prompts), len(f.Resources), len(f.Templates)
	}
	return s
}

// Refused returns the error for a call of c to a server that cannot be reached because of
// missing credentials or settings; nil otherwise.
func (u *Upstream) Refused(c *Caller) error {
	state, reason := u.State()
	if p := (personal{&u.connections}); p.on() && state == SignIn {
		if _, err := p.values(c.Principal); err != nil {
			return err
		}
	}
	switch state {
	case Unconfigured:
		return u.report.Auth(0, nil)
	case SignIn:
		return u.report.Auth(failure.StatusOf(reason), reason)
	}
	return nil
}

// Prepare waits until the server has answered or failed once. If c has its own connection,
// or the server has one for the era of c, Prepare also waits until that is open, because
// the features may differ between the eras. The error says what the user of c must do
// first.
func (u *Upstream) Prepare(ctx context.Context, c *Caller) error {
	select {
	case <-u.settled:
	case <-ctx.Done():
		return nil
	}
	if state, _ := u.State(); u.Absent() || state == Unconfigured {
		return nil
	}
	b := c.binding(&u.connections)
	apart := b.own || b.exact || b.pool != "" && u.byOffer() // opening such a connection now costs no more than at the first call
	if !apart && u.userOf(c) == "" && u.modernSlot(ctx, c) == nil {
		return nil
	}
	_, release, err := u.acquire(ctx, c, &jsonrpc.Request{})
	if err == nil {
		release()
	}
	if value := new(failure.ValueError); errors.As(err, &value) {
		return value
	}
	return nil
}

// Unavailable returns the error for a call to a server that is down.
func (u *Upstream) Unavailable() error {
	_, reason := u.State()
	return mcp.Failure(mcp.UpstreamUnavailable, u.name, fmt.Sprintf("server %q is not available: %v", u.name, orStarting(reason)))
}

// Protocol returns the protocol version of the primary connection; empty if there is none.
func (u *Upstream) Protocol() string {
	if l := u.primary.link.Load(); l != nil {
		return l.said.Version
	}
	return ""
}

// ServerInfo returns the raw serverInfo of the first server that is connected and has sent
// one, otherwise unknown.
func ServerInfo(servers []*Upstream, unknown []byte) []byte {
	for _, u := range servers {
		if l := u.primary.current(); l != nil && l.said.Info != nil {
			return l.said.Info
		}
	}
	return unknown
}
