package upstream

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/stdio"
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
}

// Status describes the upstream now.
func (u *Upstream) Status() Status {
	cfg := u.Config()
	u.mu.Lock()
	s := Status{
		Name: u.name, Schema: u.schema, Type: cfg.Type, State: u.state, Since: u.since, Restarts: u.restarts,
		Running: u.queue.Running(), Queued: u.queue.Waiting(), Dropped: maps.Clone(u.counts), Withheld: u.withheld, Noise: u.noise,
	}
	s.Reason, s.PerUser = i18n.Why(u.reason), u.state == SignIn && lacksValues(u.reason)
	if cfg.Type == config.TypeStdio {
		s.Sandbox = sandbox.Summary(cfg.Sandbox)
	}
	if u.state == Starting && u.reason == nil && u.mayDownload() {
		s.Installer = filepath.Base(cfg.Command)
	}
	if u.stderr != nil {
		s.StderrLines, s.Stderr = u.stderr.Count(), u.stderr.Lines(50)
	}
	for _, other := range u.slots {
		if other.current() != nil {
			s.Connections++
		}
	}
	for _, list := range u.issues {
		s.Issues = append(s.Issues, list...)
	}
	u.mu.Unlock()
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

// State is where the upstream is in its life, and why.
func (u *Upstream) State() (State, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.state, u.reason
}

// Refused is the error for a call of c to a server that cannot be reached
// because of who we are or what is not configured; nil otherwise.
func (u *Upstream) Refused(c *Caller) error {
	state, reason := u.State()
	if p := (personal{u}); p.on() && state == SignIn {
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

// count notes something that was dropped.
func (u *Upstream) count(what string) {
	u.mu.Lock()
	u.counts[what]++
	u.mu.Unlock()
}

// dropped notes what a server sent that was no message for us; the first of
// each kind is logged.
func (u *Upstream) dropped(reason string, head []byte) {
	u.mu.Lock()
	u.counts[reason]++
	first := u.counts[reason] == 1
	if line := strings.TrimSpace(string(head)); u.noise == "" && line != "" && line[0] != '{' && line[0] != '[' {
		u.noise = line
	}
	u.mu.Unlock()
	if first {
		u.log.Warn("ignoring what the server sent", "reason", reason, "head", strconv.Quote(string(head[:min(len(head), 256)])))
	}
}

func (u *Upstream) keepStderr(t *stdio.Tail) {
	u.mu.Lock()
	u.stderr = t
	u.mu.Unlock()
	if u.opt.OnLine == nil {
		return
	}
	lines, stop := t.Follow(followedLines)
	u.background.Go(func() {
		defer stop()
		for {
			select {
			case line, more := <-lines:
				if !more {
					return
				}
				u.opt.OnLine(u.name, line)
			case <-u.life.Done():
				return
			}
		}
	})
}

// followedLines is how many lines of a server wait for OnLine before some are
// left out.
const followedLines = 256

func (u *Upstream) noteWithheld(names []string) {
	u.mu.Lock()
	u.withheld = names
	u.mu.Unlock()
}

func (u *Upstream) reportIssues(method string, issues []catalog.Issue) {
	u.mu.Lock()
	if u.issues == nil {
		u.issues = make(map[string][]catalog.Issue)
	}
	u.issues[method] = issues
	u.mu.Unlock()
	for i, issue := range issues {
		if i == 5 {
			u.log.Warn("more items have problems", "method", method, "count", len(issues)-i)
			break
		}
		u.log.Warn("item has a problem", "method", method, "issue", issue)
	}
}

// messageRing keeps the last log messages of a server, raw.
type messageRing struct {
	mu   sync.Mutex
	list [][]byte
	next int
}

const ringSize = 200

func (r *messageRing) add(raw []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := append([]byte(nil), raw[:min(len(raw), 4096)]...)
	if len(r.list) < ringSize {
		r.list = append(r.list, kept)
		return
	}
	r.list[r.next] = kept
	r.next = (r.next + 1) % ringSize
}

// Messages returns the last log messages of the server, oldest first, raw.
func (u *Upstream) Messages() [][]byte {
	r := &u.messages
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(append([][]byte(nil), r.list[r.next:]...), r.list[:r.next]...)
}

// Absent says that the server counts as one that is not there: it is switched
// off, or nobody has approved it.
func (u *Upstream) Absent() bool {
	state, _ := u.State()
	return state == Disabled || state == Pending
}

// Prepare waits until the server has answered or failed once, and until the
// connection that c has to itself, or that its era has, is open, where there is
// one. What a server offers may differ between the eras.
func (u *Upstream) Prepare(ctx context.Context, c *Caller) {
	select {
	case <-u.settled:
	case <-ctx.Done():
		return
	}
	if state, _ := u.State(); u.Absent() || state == Unconfigured {
		return
	}
	b := c.binding(u)
	apart := b.own || b.exact || b.pool != "" && u.byOffer() // where a connection costs nothing
	if !apart && u.userOf(c) == "" && u.modernSlot(ctx, c) == nil {
		return
	}
	if _, release, err := u.acquire(ctx, c, ""); err == nil {
		release()
	}
}

// Unavailable is the error for a call to a server that is down.
func (u *Upstream) Unavailable() error {
	_, reason := u.State()
	return mcp.Failure(mcp.UpstreamUnavailable, u.name, fmt.Sprintf("server %q is not available: %v", u.name, orStarting(reason)))
}

// Policy is what the configuration says about showing the server's features.
func (u *Upstream) Policy() catalog.Policy {
	cfg := u.Config()
	tools := catalog.Rules{Allow: cfg.Allow, Deny: cfg.Deny, Items: make(map[string]catalog.Override)}
	for name, p := range cfg.Tools {
		o := catalog.Override{Enabled: p.Enabled, Rename: p.Rename, Description: p.Description, Arguments: make(map[string]catalog.Argument)}
		for argument, a := range p.Arguments {
			o.Arguments[argument] = catalog.Argument{Hidden: a.Ours(), Default: a.Default}
		}
		tools.Items[name] = o
	}
	return catalog.Policy{Tools: tools, Prompts: itemRules(cfg.Prompts), Resources: itemRules(cfg.Resources)}
}

func itemRules(set map[string]config.Policy) catalog.Rules {
	rules := catalog.Rules{Items: make(map[string]catalog.Override)}
	for name, p := range set {
		rules.Items[name] = catalog.Override{Enabled: p.Enabled}
	}
	return rules
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
