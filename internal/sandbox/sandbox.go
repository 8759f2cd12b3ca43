// Package sandbox confines a server to the files and hosts in its entry, with the
// means of the Linux kernel.
//
// The helper that starts servers cannot run Go code between fork and exec, so it
// starts this program again as a launcher. The launcher restricts its own rights,
// with Landlock for files and a seccomp filter for the rest, and executes the
// server. Some calls cannot be judged by a filter, because their arguments are in
// memory. The kernel passes these calls to the helper, which checks and makes them
// itself: so the call that was checked is the call that is made.
package sandbox

import (
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// A Profile is what a confined process may do.
type Profile = launcher.Profile

// A Request describes the server that the launcher becomes.
type Request = launcher.Request

// StageExec is the last stage of the launcher.
const StageExec = launcher.StageExec

// A SetupError says at which stage the launcher failed.
type SetupError struct {
	// Stage is landlock, seccomp, listener, or StageExec.
	Stage string
	Err   error
}

func (e *SetupError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *SetupError) In(l i18n.Lang) string {
	return i18n.New("confining it failed at %s: %v", "隔离在 %s 步骤失败：%v", e.Stage, e.Err).In(l)
}

func (e *SetupError) Unwrap() error { return e.Err }
