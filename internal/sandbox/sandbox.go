// Package sandbox confines a server to the files and hosts that its entry
// names, with the means of the Linux kernel.
//
// The helper that starts servers cannot run Go between fork and exec, so it
// starts this program again as a launcher (Exec). The launcher takes its own
// rights away, with Landlock for files and a seccomp filter for the rest, and
// becomes the server. Calls that a filter cannot judge, because their arguments
// are in memory, are asked of the helper, which makes them itself: what was
// checked is what happens.
package sandbox

import (
	"mcp-all-in-one/internal/i18n"
)

// A Profile is what a confined process may do. The zero value may read and
// write nothing and reach nobody.
type Profile struct {
	// Read are files and folders that it may read and execute.
	Read []string `json:"read,omitempty"`
	// Write are files and folders that it may also write.
	Write []string `json:"write,omitempty"`
	// Public allows connections to public addresses, and UDP.
	Public bool `json:"public,omitempty"`
	// Addresses are the other ones that it may connect to: "10.0.0.5:5432".
	Addresses []string `json:"addresses,omitempty"`
	// Unix allows unix sockets.
	Unix bool `json:"unix,omitempty"`
	// Listen allows it to accept connections.
	Listen bool `json:"listen,omitempty"`
}

// A Request is what the launcher becomes. Texts travel as bytes, because file
// names and environments need not be UTF-8.
type Request struct {
	Profile Profile  `json:"profile"`
	Path    []byte   `json:"path"`
	Argv    [][]byte `json:"argv"`
	Env     [][]byte `json:"env"`
}

// A SetupError says at which step the launcher failed.
type SetupError struct {
	// Stage is landlock, seccomp, listener, or exec.
	Stage string
	Err   error
}

// StageExec is the last stage: the process is confined, and its program could
// not be started.
const StageExec = "exec"

func (e *SetupError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *SetupError) In(l i18n.Lang) string {
	return i18n.New("confining it failed at %s: %v", "隔离在 %s 步骤失败：%v", e.Stage, e.Err).In(l)
}

func (e *SetupError) Unwrap() error { return e.Err }
