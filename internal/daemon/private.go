package daemon

import (
	"path/filepath"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/folders"
)

// Private describes a gateway that runs in the background for programs that
// know its mark, such as the windows of an editor. They use its console; it has
// no other clients. A gateway without a mark is not private.
type Private struct {
	Mark   string
	Key    config.Secret // key of clients, which is never shown
	Linger time.Duration // how long it keeps running while its console is not used
}

// PrivateLog returns the log file of private gateways.
func PrivateLog() string { return filepath.Join(folders.StateDir(), "tester.log") }

// apply removes the settings that would open the gateway to other machines.
func (p *Private) apply(cfg *config.Config) {
	if p.Mark == "" {
		return
	}
	cfg.Server.TLS, cfg.Cluster = config.TLS{}, config.Cluster{}
	cfg.Access = config.Access{Enabled: true, Key: p.Key}
	cfg.Logging.File, cfg.Logging.Console = PrivateLog(), false
}
