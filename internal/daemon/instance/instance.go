// Package instance is one running gateway: its servers, its sessions and what
// they share. The daemon serves one; a command may run one for itself.
package instance

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
	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/gateway/addresses"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lock"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/peer"
	"mcp-all-in-one/internal/script"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/telemetry"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/inbox"
	"mcp-all-in-one/internal/web/values"
)

// An Instance is one running gateway: servers, sessions and what they share.
type Instance struct {
	Config     *config.Config
	Log        *slog.Logger
	Launcher   *stdio.Launcher
	scripts    *script.Runner
	held       held
	Set        *upstream.Set
	Gateway    *gateway.Gateway
	greeting   *upstream.Greeting
	Only       []string // the schemas to keep up; nil for all
	Started    time.Time
	Name       string
	URL        string // where it listens; empty on stdio
	Port       int
	Console    bool   // the console is served
	Private    string // its mark, when only those use it who know that
	Draining   atomic.Bool
	Hits       config.Hits
	Background sync.WaitGroup
	Traffic    *traffic.Recorder // nil on stdio
	Inbox      inbox.Inbox
	Webhook    *inbox.Webhook
	// AskHost hears of hosts that sandboxes refused; nil while nobody can be asked.
	AskHost atomic.Pointer[func(server, host string)]
	policy  atomic.Pointer[access.Policy]
	allowed *config.Access // what policy was made of; nil on stdio
	// Admission hears that the policy is another one.
	Admission chan struct{}
	Tokens    *oauth.Keeper
	// Values are what users bring along for servers; Wanted are those that they
	// are asked for.
	Values *secrets.Values
	Wanted values.Book
	Audit  *telemetry.Audit  // nil when not configured
	Tracer *telemetry.Tracer // nil when not configured
	Usage  *usage.Book       // nil where calls are not counted
	// Observe hears of every call; nil when nobody does.
	Observe  func(*traffic.Observation)
	Watchers watchers
	// Guests hear that a client came or went.
	Guests watchers
	// Cluster is this gateway as one of several; nil when it is alone.
	Cluster *peer.Node
	// Members are the replicas that an engine knows; nil without one.
	Members atomic.Pointer[cluster.Members]
	// Shared is what the replicas share; nil without an engine.
	Shared  *Shared
	records *seal.Box
	placer  placer
	digest  digest
	// Reload applies the config file after a change of ours. Reread reads it
	// again for somebody who may have changed it by hand.
	Reload, Reread func() (web.Reload, error)
	// Unread is what the file says that was not read yet; nil where nobody
	// reads it again.
	Unread func() *web.Unread
}

// Options say what kind of instance is wanted.
type Options struct {
	Config *config.Config
	Log    *slog.Logger
	Level  *slog.LevelVar
	Name   string // what it calls itself
	// Schema is set on stdio: the only one, for the only client.
	Schema string
	Exit   func()
	// SelfConfig shows the tools that look after the configuration; load is
	// what they read and check it with.
	SelfConfig bool
	Load       config.LoadOptions
	// Record keeps a record of the traffic on stdio too.
	Record bool
	// Count counts calls for the figures of the day.
	Count bool
	// Compare lets locked servers show what differs from the lock, too, for who
	// compares it.
	Compare bool
	// Lock holds the servers instead of mcp.lock beside the config file; nil is none.
	Lock *lock.File
}

// New starts the configured servers and returns at once.
func New(ctx context.Context, o Options) (*Instance, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, i18n.Errorf("finding our own program: %w", "查找本程序失败：%w", err)
	}
	in := &Instance{Config: o.Config, Log: o.Log, Name: o.Name, Started: time.Now(), Admission: make(chan struct{}, 1), held: held{compare: o.Compare, given: o.Lock}}
	if o.Schema == "" { // on stdio there is one client, and no other replica
		if in.Shared, err = share(o.Config, o.Log); err != nil {
			return nil, err
		}
	}
	if err := in.openAccess(o); err != nil {
		return nil, err
	}
	info := mcp.Implementation{Name: o.Name, Version: mcp.ProductVersion}
	in.Launcher = stdio.NewLauncher(stdio.LauncherOptions{Exe: exe, Log: o.Log, Refused: hostRefused(in)})
	in.scripts = script.NewRunner(in.Launcher, exe)
	if o.Schema == "" || o.Record {
		in.Traffic = traffic.New(traffic.Options{})
	}
	if o.Schema != "" {
		in.greeting = upstream.NewGreeting(access.Local.ID)
		in.Only = []string{o.Schema}
	}
	in.openTokens(ctx)
	in.Values = secrets.NewValues(folders.UserDir(folders.Home()))
	learnt := memory.OpenShared(memoryPath(), in.Shared.shelf())
	in.Set = upstream.NewSet(ctx, upstream.Options{
		Launcher: in.Launcher, Log: o.Log, Limits: &o.Config.Limits, Hits: &in.Hits, Tokens: in.Tokens,
		Values:   in.Values,
		Info:     fmt.Appendf(nil, `{"name":%q,"version":%q}`, info.Name, info.Version),
		Roots:    func() []config.Root { return in.Set.Snapshot().Config.Roots },
		Memory:   learnt,
		Pins:     OpenPins(in.Shared.shelf()),
		Lock:     &in.held,
		Greeting: in.greeting,
		OnChange: func(*upstream.Upstream) {
			if in.Gateway != nil {
				in.Gateway.Changed()
			}
			in.Watchers.changed()
		},
		Person: in.person,
		OnLine: lineRecorder(in.Traffic),
		Placer: placerFor(in, o),
	})
	in.Observe = in.openTelemetry(ctx)
	seals, owner, err := joinCluster(in, o)
	if err != nil {
		return nil, err
	}
	if o.Count {
		in.Usage = usage.Open(usage.Options{Dir: usage.Dir(), Log: o.Log})
	}
	in.Gateway = gateway.New(gateway.Options{
		Set: in.Set, Log: o.Log, Info: info, Level: o.Level, Greeting: in.greeting, Exit: o.Exit,
		Traffic: in.Traffic, Observe: in.Observe, Usage: in.Usage, Own: in.ownTools(o), Hits: &in.Hits,
		OnClients: in.Guests.changed, Approve: in.approve, AskValue: askValue(in), Seals: seals, Owner: owner,
		Scripts: in.scripts, Results: filepath.Join(folders.StateDir(), "results", fmt.Sprint(os.Getpid())),
		Addresses: addresses.Open(filepath.Join(folders.StateDir(), "addresses.json")),
	})
	in.Webhook = inbox.NewWebhook(func() config.Inbox { return in.Set.Snapshot().Config.Inbox }, func() string { return in.URL }, o.Log)
	in.Inbox.Tell(in.Webhook.Tell)
	in.Watchers.Add(in.warnLookalikes())
	in.Shared.start(in, learnt, o.Load)
	in.Apply(o.Config)
	return in, nil
}

// lineRecorder keeps the lines that servers write for the console, where there
// is a record.
func lineRecorder(to *traffic.Recorder) func(server, line string) {
	if to == nil {
		return nil
	}
	return func(server, line string) {
		to.AddLine(traffic.Line{Server: server, Source: "stderr", Text: line})
	}
}

// ownTools are the tools by which a client looks after our configuration.
func (in *Instance) ownTools(o Options) *builtin.Set {
	if !o.SelfConfig {
		return nil
	}
	self := &builtin.SelfConfig{Path: o.Config.Path, Load: o.Load, Log: o.Log, Apply: func() error { _, err := in.Reload(); return err }}
	return self.Set()
}

// Close stops the servers and waits until nothing of ours is running.
func (in *Instance) Close(ctx context.Context) {
	in.Gateway.Close()
	in.scripts.Close()
	in.Set.Close(ctx)
	in.Tokens.Close()
	in.Shared.close()
	in.closeTelemetry()
	in.Watchers.stop()
	in.Guests.stop()
	in.Webhook.Close()
	if err := in.Launcher.Close(); err != nil {
		in.Log.Warn("ending the helper", "err", err)
	}
	in.Background.Wait()
}

// Statuses describes every server.
func (in *Instance) Statuses() []upstream.Status {
	var list []upstream.Status
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			list = append(list, u.Status())
		}
	}
	return list
}

// Unready says why no new work is welcome; empty when it is.
func (in *Instance) Unready() string {
	if in.Draining.Load() {
		return "draining"
	}
	if in.Shared.unread() {
		return "reading what the replicas share"
	}
	for _, s := range in.Statuses() {
		if s.State == upstream.Starting {
			return "starting"
		}
	}
	return ""
}
