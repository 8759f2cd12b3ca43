package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/web"
)

// A reloader applies a changed config file while the gateway runs: on SIGHUP,
// through the API, and by itself with --watch. A file that cannot be read changes nothing.
type reloader struct {
	in    *instance.Instance
	env   *env.Env
	flags ServeFlags

	mu      sync.Mutex
	watcher *config.Watcher
	done    chan struct{}
	wg      sync.WaitGroup
	cancel  context.CancelFunc
	// seen is the file that found was made of.
	seen  [sha256.Size]byte
	found *web.Unread
	// fileless says that there was no file to begin with.
	fileless bool
}

func NewReloader(in *instance.Instance, a *env.Env, f ServeFlags) *reloader {
	r := &reloader{in: in, env: a, flags: f, done: make(chan struct{})}
	in.Reload, in.Unread = r.reload, r.unread
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
	if !r.flags.Watch {
		return
	}
	w, err := config.Watch(r.in.Config, r.env.LoadOptions(false), r.deliver)
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

// reload reads the file again and applies it.
func (r *reloader) reload() (web.Reload, error) {
	cfg, err := r.load()
	if err != nil {
		return web.Reload{}, err
	}
	return r.apply(cfg), nil
}

// reconsider applies the file when other servers of it wait for approval than
// before: somebody approved one at another replica, or proposed it there.
func (r *reloader) reconsider() {
	cfg, err := r.load()
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

func (r *reloader) load() (*config.Config, error) {
	o := r.env.LoadOptions(false)
	o.Path = r.in.Config.Path
	return config.Load(o)
}

// unread is what the file says that was not read yet; nil when it says nothing
// new. The file is looked at each time, and read once for each of its versions.
func (r *reloader) unread() *web.Unread {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := config.Fingerprint(r.in.Config)
	if r.fileless && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && now == r.seen {
		return r.found
	}
	var cfg *config.Config
	if cfg, err = r.load(); err != nil {
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

// complete adds to a file what this gateway was started with.
func (r *reloader) complete(cfg *config.Config) {
	r.flags.apply(cfg)
	if r.in.Only == nil && r.env.WantsDemo() {
		env.AddDemo(cfg)
	}
}

func (r *reloader) deliver(cfg *config.Config, err error) {
	if err != nil {
		r.in.Log.Error("config not reloaded", "err", err)
		return
	}
	r.apply(cfg)
}

// apply makes a configuration count, and says what it changed.
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

// emptyReport has lists for all that could have changed.
func emptyReport(path string) web.Reload {
	return web.Reload{Path: path, Added: []string{}, Removed: []string{}, Changed: []string{}, Settings: []string{}, Problems: []string{}, ProblemsZH: []string{}}
}

// report compares a configuration with the one in use.
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
