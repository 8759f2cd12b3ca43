package daemon

import (
	"path/filepath"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/folders"
)

// Private is a gateway that runs in the background for those who know its mark,
// such as the windows of an editor: they see its console, and nobody else is
// served. A gateway without a mark is not private.
type Private struct {
	Mark   string
	Key    config.Secret // what a client needs, which nobody is told
	Linger time.Duration // how long it runs with nobody at its console
}

// PrivateLog is where private gateways write their log.
func PrivateLog() string { return filepath.Join(folders.StateDir(), "tester.log") }

// apply keeps to this machine what the file may open to others.
func (p *Private) apply(cfg *config.Config) {
	if p.Mark == "" {
		return
	}
	cfg.Server.TLS, cfg.Cluster = config.TLS{}, config.Cluster{}
	cfg.Access = config.Access{Enabled: true, Key: p.Key}
	cfg.Logging.File, cfg.Logging.Console = PrivateLog(), false
}
