// Package sandbox confines a server to the files and hosts that its entry
// names, with the means of the Linux kernel.
//
// The helper that starts servers cannot run Go between fork and exec, so it
// starts this program again as a launcher. The launcher takes its own
// rights away, with Landlock for files and a seccomp filter for the rest, and
// becomes the server. Calls that a filter cannot judge, because their arguments
// are in memory, are asked of the helper, which makes them itself: what was
// checked is what happens.
package sandbox

import (
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// A Profile is what a confined process may do.
type Profile = launcher.Profile

// A Request is what the launcher becomes.
type Request = launcher.Request

// StageExec is the last stage of the launcher.
const StageExec = launcher.StageExec

// A SetupError says at which step the launcher failed.
type SetupError struct {
	// Stage is landlock, seccomp, listener, or StageExec.
	Stage string
	Err   error
}

func (e *SetupError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *SetupError) In(l i18n.Lang) string {
	return i18n.New("confining it failed at %s: %v", "隔离在 %s 步骤失败：%v", e.Stage, e.Err).In(l)
}

func (e *SetupError) Unwrap() error { return e.Err }
