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
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/script"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/telemetry"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/servers"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/inbox"
	"mcp-all-in-one/internal/web/values"
	"mcp-all-in-one/internal/weight"
)

// An Instance is one running gateway: servers, sessions and what they share.
type Instance struct {
	Config    *config.Config
	Log       *slog.Logger
	Launcher  *stdio.Launcher
	scripts   *script.Runner
	held      held
	Set       *servers.Set
	Gateway   *gateway.Gateway
	greeting  *upstream.Greeting
	Only      []string // the schemas to keep up; nil for all
	Started   time.Time
	Name      string
	URL       string // its address; empty on stdio
	Port      int
	Console   bool   // the console is served
	Private   string // its mark if it is private; see daemon.Private
	Draining  atomic.Bool
	Hits      config.Hits
	Weights   weight.Book // of the unfinished requests of each principal
	rates     rate.Rates
	Held      *rate.Sessions // nil without a cluster
	strangers Recent
	compared  atomic.Bool // no other replica has a release that is too far from ours
	// HostsRefused has the requests for hosts that are not ours.
	HostsRefused Recent
	Background   sync.WaitGroup
	Traffic      *traffic.Recorder // nil on stdio
	Inbox        inbox.Inbox
	Webhook      *inbox.Webhook
	// AskHost is called with hosts that sandboxes refused; nil while no console
	// can ask about them.
	AskHost atomic.Pointer[func(server, host string)]
	policy  atomic.Pointer[access.Policy]
	allowed *config.Access // the settings that policy was made from; nil on stdio
	// Admission is notified when the policy changes.
	Admission chan struct{}
	Tokens    *oauth.Keeper
	// Values are the users' own values for servers. Wanted are the values that
	// users are asked for.
	Values *secrets.Values
	Wanted values.Book
	Audit  *telemetry.Audit  // nil when not configured
	Tracer *telemetry.Tracer // nil when not configured
	Usage  *usage.Book       // nil if calls are not counted
	// Observe is called with every call; nil for none.
	Observe  func(*traffic.Observation)
	Watchers watchers
	// Guests are notified when a client connects or disconnects.
	Guests watchers
	// Cluster is this gateway as a replica of a cluster; nil outside a cluster.
	Cluster *peer.Node
	// LoginBox seals logins to the console, so that all replicas accept them; nil
	// outside a cluster.
	LoginBox *seal.Box
	secrets  []string // ids of the secrets of the cluster
	// Members are the replicas that an engine knows; nil without an engine.
	Members atomic.Pointer[cluster.Members]
	// Shared is what the replicas share; nil without an engine.
	Shared  *Shared
	records *seal.Box
	placer  placer
	digest  digest
	// Reload applies the config file after the gateway has changed it. Reread
	// reads a file that may have been edited by hand.
	Reload, Reread func() (web.Reload, error)
	// Restart makes the program start again, soon; nil if it serves no HTTP.
	Restart func() error
	// Unread returns the changes in the file that are not applied yet. It is
	// nil if the file is never read again.
	Unread func() *web.Unread
}

// Options describe the instance to start.
type Options struct {
	Config *config.Config
	Log    *slog.Logger
	Level  *slog.LevelVar
	Name   string // the name of the gateway
	// Schema is set on stdio: the only schema, for the only client.
	Schema string
	Exit   func()
	// SelfConfig shows the tools that change the configuration; they read and
	// check it with Load.
	SelfConfig bool
	Load       config.LoadOptions
	// Record keeps a traffic record on stdio too.
	Record bool
	// Count counts calls for the daily usage.
	Count bool
	// Compare lets locked servers also show items that differ from the lock, so
	// that they can be compared.
	Compare bool
	// Lock is used instead of mcp.lock next to the config file; nil for none.
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
	learnt := memory.OpenShared(memoryPath(), in.Shared.documents())
	in.Set = servers.NewSet(ctx, upstream.Options{
		Launcher: in.Launcher, Log: o.Log, Limits: &o.Config.Limits, Hits: &in.Hits, Tokens: in.Tokens,
		Values:   in.Values,
		Info:     fmt.Appendf(nil, `{"name":%q,"version":%q}`, info.Name, info.Version),
		Roots:    func() []config.Root { return in.Set.Snapshot().Config.Roots },
		Memory:   learnt,
		Pins:     OpenPins(in.Shared.documents()),
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
		Traffic: in.Traffic, Observe: in.Observe, Usage: in.Usage, Own: in.ownTools(o), Hits: &in.Hits, Rates: &in.rates, Weights: &in.Weights,
		OnClients: in.Guests.changed, Approve: in.approve, AskValue: askValue(in), Seals: seals, Owner: owner, Fetch: fetcher(in),
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

// lineRecorder records the lines that servers print, for the console. It
// returns nil without a traffic record.
func lineRecorder(to *traffic.Recorder) func(server, line string) {
	if to == nil {
		return nil
	}
	return func(server, line string) {
		to.AddLine(traffic.Line{Server: server, Source: "stderr", Text: line})
	}
}

// ownTools returns the tools with which a client changes the configuration.
func (in *Instance) ownTools(o Options) *builtin.Set {
	if !o.SelfConfig {
		return nil
	}
	self := &builtin.SelfConfig{Path: o.Config.Path, Load: o.Load, Log: o.Log, Apply: func() error { _, err := in.Reload(); return err }}
	return self.Set()
}

// Close stops the servers and waits for all goroutines.
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

// Unready returns why the gateway accepts no new work; empty if it does.
func (in *Instance) Unready() string {
	if in.Draining.Load() {
		return "draining"
	}
	if in.Cluster != nil && !in.compared.Load() {
		return "comparing its release with those of the other replicas"
	}
	if in.Shared.unread() {
		return "reading what the replicas share"
	}
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			if u.Status().State == upstream.Starting && !in.placer.waitsForEngine(u) {
				return "starting"
			}
		}
	}
	return ""
}
