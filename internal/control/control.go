// Package control talks to the gateways that run on this machine, over the
// socket that each of them keeps for its user.
package control

import (
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/folders"
)

// Info is what a gateway says about itself there.
type Info struct {
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Config  string `json:"config"`
	URL     string `json:"url"`
	Console bool   `json:"console"`
	// Private is the mark of a gateway that only those use who know it.
	Private string `json:"private,omitempty"`
}

// Dir is where the sockets of running gateways are.
func Dir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-all-in-one")
	}
	return filepath.Join(folders.StateDir(), "run")
}
