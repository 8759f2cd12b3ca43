package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/watch"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/web"
)

// A reloader applies a changed config file while the gateway runs: on SIGHUP,
// through the API, and automatically with --watch. A file that cannot be read
// changes nothing.
type reloader struct {
	in    *instance.Instance
	env   *env.Env
	flags ServeFlags

	mu      sync.Mutex
	watcher *watch.Watcher
	done    chan struct{}
	wg      sync.WaitGroup
	cancel  context.CancelFunc
	// seen is the hash of the file that found describes.
	seen  [sha256.Size]byte
	found *web.Unread
	// turn is held while the file is read and applied, so that an older version
	// is never applied after a newer one.
	turn sync.Mutex
	// shared is the shared text that was read last; guarded by turn.
	shared []byte
	// fileless is set if there was no file at the start.
	fileless bool
}

func NewReloader(in *instance.Instance, a *env.Env, f ServeFlags) *reloader {
	r := &reloader{in: in, env: a, flags: f, done: make(chan struct{})}
	in.Reload, in.Reread, in.Unread = r.edited, r.reload, r.unread
	if in.Shared.SharesConfig() {
		r.shared = in.Shared.First
	}
	_, err := os.Stat(in.Config.Path)
	r.fileless = errors.Is(err, fs.ErrNotExist)
	return r
}

func (r *reloader) start(life *instance.Lifetime) {
	ctx, cancel := context.WithCancel(life.Soft)
	r.cancel = cancel
	r.wg.Go(func() {
		for {
			select {
			case <-life.Hangup:
				if _, err := r.reload(); err != nil {
					r.in.Log.Error("config not reloaded", "err", err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	r.in.Shared.Follow(record.Approvals, r.reconsider)
	if r.in.Shared.SharesConfig() {
		r.in.Shared.Follow(record.Config, r.followConfig)
	}
	if !r.flags.Watch {
		return
	}
	w, err := watch.File(r.in.Config, r.env.LoadOptions(false), r.deliver)
	if err != nil {
		r.in.Log.Error("config not watched", "err", err)
		return
	}
	r.watcher = w
}

func (r *reloader) stop() {
	close(r.done)
	if r.watcher != nil {
		r.watcher.Close()
	}
	r.cancel()
	r.wg.Wait()
}

// reload reads the file again and applies it. If replicas share its text,
// reload updates the file from the shared text first.
func (r *reloader) reload() (web.Reload, error) { return r.reread(false) }

func (r *reloader) reread(edited bool) (web.Reload, error) {
	if err := r.in.Shared.Sync(edited); err != nil {
		return web.Reload{}, err
	}
	r.turn.Lock()
	defer r.turn.Unlock()
	cfg, err := r.load()
	if err != nil {
		return web.Reload{}, err
	}
	return r.apply(cfg), nil
}

// edited applies the file after the gateway has edited it.
func (r *reloader) edited() (web.Reload, error) { return r.reread(true) }

// followConfig applies the text that the replicas share, after it has arrived.
func (r *reloader) followConfig() {
	defer instance.TellMembers(r.in)
	r.turn.Lock()
	defer r.turn.Unlock()
	if err := r.in.Shared.Rejected(); err != nil {
		r.in.Log.Error("config not reloaded", "err", err)
		return
	}
	if err := r.in.Shared.Config.Know(); err != nil {
		r.in.Log.Error("config not reloaded", "err", err)
		return
	}
	if bytes.Equal(r.in.Shared.Config.Known(), r.shared) {
		return
	}
	cfg, err := r.load()
	if err != nil {
		r.in.Log.Error("config not reloaded", "err", err)
		return
	}
	r.apply(cfg)
}

// reconsider applies the file again if the set of servers that wait for
// approval has changed: a server was approved or proposed on another replica.
func (r *reloader) reconsider() {
	r.turn.Lock()
	defer r.turn.Unlock()
	cfg, err := r.read()
	if err != nil {
		r.in.Log.Error("what was approved elsewhere does not count yet: config not reloaded", "err", err)
		return
	}
	for _, view := range r.in.Set.Snapshot().Config.Schemas {
		schema := cfg.Schema(view.Name)
		if schema == nil {
			continue
		}
		for _, s := range view.Servers {
			if now := schema.Server(s.Name); now != nil && (now.Pending != s.Pending || (now.Waiting == nil) != (s.Waiting == nil)) {
				r.apply(cfg)
				return
			}
		}
	}
}

// load reads the file; turn must be held. A change during the read is applied
// by the next load.
func (r *reloader) load() (*config.Config, error) {
	if r.in.Shared.SharesConfig() {
		text, err := r.in.Shared.Config.Read()
		if err != nil {
			return nil, err
		}
		r.shared = text
	}
	return r.read()
}

func (r *reloader) read() (*config.Config, error) {
	o := r.env.LoadOptions(false)
	o.Path = r.in.Config.Path
	return config.Load(o)
}

// unread returns the changes in the file that are not applied yet; nil if there
// are none. It checks the file each time, but parses each version only once.
func (r *reloader) unread() *web.Unread {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.in.Shared.Rejected(); err != nil {
		u := &web.Unread{Reload: emptyReport(r.in.Config.Path)}
		u.Error, u.ErrorZH = i18n.Why(err).Both()
		return u
	}
	now, err := watch.Fingerprint(r.in.Config)
	if r.fileless && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && now == r.seen {
		return r.found
	}
	var cfg *config.Config
	if cfg, err = r.read(); err != nil {
		r.found = &web.Unread{Reload: emptyReport(r.in.Config.Path)}
		r.found.Error, r.found.ErrorZH = i18n.Why(err).Both()
	} else {
		r.complete(cfg)
		r.found = &web.Unread{Reload: r.report(cfg)}
		if r.found.Empty() {
			r.found = nil
		}
	}
	r.seen = now
	return r.found
}

// complete adds the settings of the command line to a configuration.
func (r *reloader) complete(cfg *config.Config) {
	r.flags.apply(cfg)
	if r.in.Only == nil && r.env.WantsDemo() {
		env.AddDemo(cfg)
	}
}

func (r *reloader) deliver(_ *config.Config, err error) {
	if err == nil {
		_, err = r.reload() // the delivered configuration may be outdated by now
	}
	if err != nil {
		r.in.Log.Error("config not reloaded", "err", err)
	}
}

// apply makes a configuration the current one, and reports what changed.
func (r *reloader) apply(cfg *config.Config) web.Reload {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete(cfg)
	r.seen = [sha256.Size]byte{}
	warn(r.env, r.in.Log, cfg)
	report := r.report(cfg)
	r.in.Apply(cfg)
	r.in.Log.Info("config applied", "path", cfg.Path, "added", report.Added, "removed", report.Removed, "changed", report.Changed)
	return report
}

// emptyReport returns a report with empty, non-nil lists.
func emptyReport(path string) web.Reload {
	return web.Reload{Path: path, Added: []string{}, Removed: []string{}, Changed: []string{}, Settings: []string{}, Problems: []string{}, ProblemsZH: []string{}}
}

// report compares a configuration with the current one.
func (r *reloader) report(cfg *config.Config) web.Reload {
	report := emptyReport(cfg.Path)
	ids := func(into *[]string, lists ...[]*config.Server) {
		for _, list := range lists {
			for _, s := range list {
				*into = append(*into, s.ID())
			}
		}
	}
	report.Settings = append(report.Settings, config.ChangedValues(r.in.Set.Snapshot().Config, cfg)...)
	for _, d := range config.Diff(r.in.Set.Snapshot().Config, cfg) {
		if r.in.Only != nil && !slices.Contains(r.in.Only, d.Schema) {
			continue
		}
		report.Settings = append(report.Settings, d.Settings...)
		ids(&report.Added, d.Added)
		ids(&report.Removed, d.Removed)
		ids(&report.Changed, d.Changed, d.Updated)
	}
	for _, p := range cfg.Problems {
		report.Problems = append(report.Problems, p.String())
		report.ProblemsZH = append(report.ProblemsZH, p.In(i18n.Chinese))
	}
	return report
}
