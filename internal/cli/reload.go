package cli

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/config"
)

// A reloader applies a changed config file while the gateway runs: on SIGHUP,
// and by itself with --watch. A file that cannot be read changes nothing.
type reloader struct {
	in    *instance
	app   *app
	flags serveFlags

	mu      sync.Mutex
	watcher *config.Watcher
	done    chan struct{}
	wg      sync.WaitGroup
	cancel  context.CancelFunc
}

func (in *instance) reloader(a *app, f serveFlags) *reloader {
	r := &reloader{in: in, app: a, flags: f, done: make(chan struct{})}
	in.reload = r.reload
	return r
}

func (r *reloader) start(life *lifetime) {
	ctx, cancel := context.WithCancel(life.soft)
	r.cancel = cancel
	r.wg.Go(func() {
		for {
			select {
			case <-life.hangup:
				if err := r.reload(); err != nil {
					r.in.log.Error("config not reloaded", "err", err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	if !r.flags.watch {
		return
	}
	w, err := config.Watch(r.in.cfg, r.app.loadOptions(false), r.deliver)
	if err != nil {
		r.in.log.Error("config not watched", "err", err)
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
func (r *reloader) reload() error {
	o := r.app.loadOptions(false)
	o.Path = r.in.cfg.Path
	cfg, err := config.Load(o)
	if err != nil {
		return err
	}
	r.apply(cfg)
	return nil
}

func (r *reloader) deliver(cfg *config.Config, err error) {
	if err != nil {
		r.in.log.Error("config not reloaded", "err", err)
		return
	}
	r.apply(cfg)
}

func (r *reloader) apply(cfg *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flags.apply(cfg)
	if r.in.only == nil && r.app.wantsDemo() {
		addDemo(cfg)
	}
	r.app.warn(r.in.log, cfg)
	r.in.set.Apply(cfg, r.in.only)
	r.in.log.Info("config applied", "path", cfg.Path)
}
