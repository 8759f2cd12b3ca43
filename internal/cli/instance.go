package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/telemetry"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
)

// An instance is one running gateway: servers, sessions and what they share.
type instance struct {
	cfg      *config.Config
	log      *slog.Logger
	launcher *stdio.Launcher
	set      *upstream.Set
	gateway  *gateway.Gateway
	greeting *upstream.Greeting
	only     []string // the schemas to keep up; nil for all
	started  time.Time
	name     string
	url      string // where it listens; empty on stdio
	port     int
	console  bool // the console is served
	draining atomic.Bool
	hits     config.Hits
	wg       sync.WaitGroup
	traffic  *traffic.Recorder // nil on stdio
	inbox    web.Inbox
	access   *access.Policy
	tokens   *oauth.Keeper
	audit    *telemetry.Audit  // nil when not configured
	tracer   *telemetry.Tracer // nil when not configured
	// observe hears of every call; nil when nobody does.
	observe  func(*traffic.Observation)
	watchers watchers
	// guests hear that a client came or went.
	guests watchers
	// reload reads the config file again and applies it.
	reload func() (web.Reload, error)
	// unread is what the file says that was not read yet; nil where nobody
	// reads it again.
	unread func() *web.Unread
}

// instanceOptions say what kind of instance is wanted.
type instanceOptions struct {
	cfg   *config.Config
	log   *slog.Logger
	level *slog.LevelVar
	name  string // what it calls itself
	// schema is set on stdio: the only one, for the only client.
	schema string
	exit   func()
	// selfConfig shows the tools that look after the configuration; load is
	// what they read and check it with.
	selfConfig bool
	load       config.LoadOptions
	// record keeps a record of the traffic on stdio too.
	record bool
}

// newInstance starts the configured servers and returns at once.
func newInstance(ctx context.Context, o instanceOptions) (*instance, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, i18n.Errorf("finding our own program: %w", "查找本程序失败：%w", err)
	}
	policy := &access.Policy{}
	if o.schema == "" {
		if policy, err = newPolicy(o.cfg); err != nil {
			return nil, err
		}
	}
	in := &instance{cfg: o.cfg, log: o.log, name: o.name, started: time.Now(), access: policy}
	info := mcp.Implementation{Name: o.name, Version: mcp.ProductVersion}
	in.launcher = stdio.NewLauncher(stdio.LauncherOptions{Exe: exe, Log: o.log})
	if o.schema == "" || o.record {
		in.traffic = traffic.New(traffic.Options{})
	}
	if o.schema != "" {
		in.greeting = upstream.NewGreeting()
		in.only = []string{o.schema}
	}
	in.openTokens(ctx)
	in.set = upstream.NewSet(ctx, upstream.Options{
		Launcher: in.launcher, Log: o.log, Limits: &o.cfg.Limits, Hits: &in.hits, Tokens: in.tokens,
		Info:     fmt.Appendf(nil, `{"name":%q,"version":%q}`, info.Name, info.Version),
		Roots:    func() []config.Root { return in.set.Snapshot().Config.Roots },
		Memory:   upstream.OpenMemory(filepath.Join(stateDir(), "servers.json")),
		Pins:     openPins(),
		Greeting: in.greeting,
		OnChange: func(*upstream.Upstream) {
			if in.gateway != nil {
				in.gateway.Changed()
			}
			in.watchers.changed()
		},
		Person: in.person,
	})
	in.observe = in.openTelemetry(ctx)
	in.gateway = gateway.New(gateway.Options{
		Set: in.set, Log: o.log, Info: info, Level: o.level, Greeting: in.greeting, Exit: o.exit,
		Traffic: in.traffic, Observe: in.observe, Own: in.ownTools(o), Hits: &in.hits,
		OnClients: in.guests.changed, Approve: in.approve,
		Addresses: gateway.OpenAddresses(filepath.Join(stateDir(), "addresses.json")),
	})
	in.watchers.add(in.warnLookalikes())
	in.set.Apply(o.cfg, in.only)
	return in, nil
}

// ownTools are the tools by which a client looks after our configuration.
func (in *instance) ownTools(o instanceOptions) *builtin.Set {
	if !o.selfConfig {
		return nil
	}
	self := &builtin.SelfConfig{Path: o.cfg.Path, Load: o.load, Log: o.log, Apply: func() error { _, err := in.reload(); return err }}
	return self.Set()
}

// close stops the servers and waits until nothing of ours is running.
func (in *instance) close(ctx context.Context) {
	in.gateway.Close()
	in.set.Close(ctx)
	in.tokens.Close()
	in.closeTelemetry()
	in.watchers.stop()
	in.guests.stop()
	if err := in.launcher.Close(); err != nil {
		in.log.Warn("ending the helper", "err", err)
	}
	in.wg.Wait()
}

// statuses describes every server.
func (in *instance) statuses() []upstream.Status {
	var list []upstream.Status
	for _, view := range in.set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			list = append(list, u.Status())
		}
	}
	return list
}

// unready says why no new work is welcome; empty when it is.
func (in *instance) unready() string {
	if in.draining.Load() {
		return "draining"
	}
	for _, s := range in.statuses() {
		if s.State == upstream.Starting {
			return "starting"
		}
	}
	return ""
}

// stateDir is where we keep what we learnt; it may be removed at any time.
func stateDir() string { return config.StateDir() }
