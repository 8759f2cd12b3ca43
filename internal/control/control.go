// Package control talks to the gateways that run on this machine, over the
// socket that each gateway opens for its user.
package control

import (
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/folders"
)

// Info is a gateway's description of itself.
type Info struct {
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Config  string `json:"config"`
	URL     string `json:"url"`
	Console bool   `json:"console"`
	// Private is the mark of a private gateway. Only programs that know the
	// mark use it.
	Private string `json:"private,omitempty"`
}

// Dir returns the directory of the sockets of running gateways.
func Dir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-all-in-one")
	}
	return filepath.Join(folders.StateDir(), "run")
}
