package instance

import (
	"context"
	"slices"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/lock"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream/failure"
)

// held enforces the lock of the servers.
type held struct {
	mu   sync.Mutex
	file *lock.File // nil enforces nothing
	err  error      // why file is nil although there should be a lock

	compare bool       // definitions that differ are shown too
	given   *lock.File // instead of the file next to the config file
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

// Hold replaces the command of a server by the locked one, and lets its sandbox
// read the locked files.
func (h *held) Hold(ctx context.Context, s *config.Server, cmd *stdio.Command) error {
	file, err := h.current()
	if err == nil && file == nil {
		return nil
	}
	var p *lock.Program
	switch {
	case err != nil:
	case cmd == nil:
		err = file.Check(ctx, s)
	default:
		p, err = file.Hold(ctx, s, cmd.Env)
	}
	if err != nil {
		return &failure.LockError{Err: err}
	}
	if cmd == nil {
		return nil
	}
	cmd.Path, cmd.Args, cmd.Env = p.Path, p.Args, p.Env
	if cmd.Sandbox != nil && p.Prefix != "" {
		wider := *cmd.Sandbox
		wider.Rules.Read = append(slices.Clone(wider.Rules.Read), p.Prefix)
		cmd.Sandbox = &wider
	}
	return nil
}

// Allows reports whether a definition is the locked one.
func (h *held) Allows(s *config.Server, kind, name string, raw []byte) bool {
	file, err := h.current()
	if err != nil || file == nil || h.compare {
		return err == nil
	}
	return file.Allows(lock.Key(s), kind, name, definition.Fingerprint(raw))
}
