package upstream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/pin"
)

// A Status is what a person wants to know about a server.
type Status struct {
	Name, Schema, Type string
	State              State
	Reason             i18n.Text
	PerUser            bool // it works for users who have given their values
	Since              time.Time
	Version, Era       string
	Speaks             []string
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
	Stderr             []string
	StderrLines        int // all that it has written
	Dropped            map[string]int64
	Replica            string   // where it is, when another replica has it
	Sandbox            string   // what of it is confined; "" when it is not
	Installer          string   // the program that may still be downloading it, at its first start
	Withheld           []string // environment variables that it did not get
	Noise              string   // the first line on its standard output that was no message
	Issues             []catalog.Issue
	Changed            []pin.Change // what is not what it was
	Replaced           bool         // another entry waits for approval in its place
}

// Status describes the upstream now.
func (u *Upstream) Status() Status {
	cfg := u.Config()
	s := Status{Name: u.name, Schema: u.schema, Type: cfg.Type, Replaced: cfg.Waiting != nil, Running: u.queue.Running(), Queued: u.queue.Waiting()}
	u.condition.describe(&s)
	u.observed.describe(&s)
	if cfg.Type == config.TypeStdio {
		s.Sandbox = sandbox.Summary(cfg.Sandbox)
	}
	if s.State == Starting && s.Reason.Empty() && u.mayDownload() {
		s.Installer = filepath.Base(cfg.Command)
	}
	s.Connections = u.slots.connected()
	if l := u.primary.current(); l != nil {
		s.Connections++
		s.Version, s.Era, s.Speaks = l.said.Version, l.era.String(), l.said.Speaks
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

// Refused is the error for a call of c to a server that cannot be reached
// because of who we are or what is not configured; nil otherwise.
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

// Prepare waits until the server has answered or failed once, and until the
// connection that c has to itself, or that its era has, is open, where there is
// one. What a server offers may differ between the eras. The error says what the
// user of c has to do first.
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
	apart := b.own || b.exact || b.pool != "" && u.byOffer() // where a connection costs nothing
	if !apart && u.userOf(c) == "" && u.modernSlot(ctx, c) == nil {
		return nil
	}
	_, release, err := u.acquire(ctx, c, "")
	if err == nil {
		release()
	}
	if value := new(failure.ValueError); errors.As(err, &value) {
		return value
	}
	return nil
}

// Unavailable is the error for a call to a server that is down.
func (u *Upstream) Unavailable() error {
	_, reason := u.State()
	return mcp.Failure(mcp.UpstreamUnavailable, u.name, fmt.Sprintf("server %q is not available: %v", u.name, orStarting(reason)))
}

// Protocol is the version spoken on the primary connection; empty while there
// is none.
func (u *Upstream) Protocol() string {
	if l := u.primary.link.Load(); l != nil {
		return l.said.Version
	}
	return ""
}

// ServerInfo is what the first of some servers that is known says of itself.
func ServerInfo(servers []*Upstream, unknown []byte) []byte {
	for _, u := range servers {
		if l := u.primary.current(); l != nil && l.said.Info != nil {
			return l.said.Info
		}
	}
	return unknown
}
