package instance

import (
	"context"
	"slices"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/lock"
	"mcp-all-in-one/internal/stdio"
)

// Apply makes the servers, and who may enter, what the configuration says, and
// holds the servers to mcp.lock where it says that too.
func (in *Instance) Apply(cfg *config.Config) {
	in.admit(cfg)
	in.held.use(cfg)
	in.placer.want(cfg)
	in.Usage.Use(cfg.Usage.Enabled, cfg.Usage.Days)
	in.Set.Apply(cfg, in.Only)
}

// held holds servers to the lock beside the config file.
type held struct {
	mu   sync.Mutex
	file *lock.File // nil holds nothing
	err  error      // why there is none, though there should be

	compare bool       // definitions that differ are shown, too
	given   *lock.File // instead of the one beside the config file
}

func (h *held) use(cfg *config.Config) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.file, h.err = h.given, nil
	if cfg.Locked && h.given == nil {
		h.file, h.err = lock.Open(cfg.Path)
	}
}

func (h *held) current() (*lock.File, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.file, h.err
}

// Hold makes the command of a server the one that was locked. A sandbox lets it
// read where that is.
func (h *held) Hold(ctx context.Context, s *config.Server, cmd *stdio.Command) error {
	file, err := h.current()
	if err != nil || file == nil {
		return err
	}
	if cmd == nil {
		return file.Check(ctx, s)
	}
	p, err := file.Hold(ctx, s, cmd.Env)
	if err != nil {
		return err
	}
	cmd.Path, cmd.Args, cmd.Env = p.Path, p.Args, p.Env
	if cmd.Sandbox != nil && p.Prefix != "" {
		wider := *cmd.Sandbox
		wider.Rules.Read = append(slices.Clone(wider.Rules.Read), p.Prefix)
		cmd.Sandbox = &wider
	}
	return nil
}

// Allows says whether a definition is the one that was locked.
func (h *held) Allows(s *config.Server, kind, name, fingerprint string) bool {
	file, err := h.current()
	if err != nil || file == nil || h.compare {
		return err == nil
	}
	return file.Allows(lock.Key(s), kind, name, fingerprint)
}
