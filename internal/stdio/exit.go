package stdio

import (
	"mcp-all-in-one/internal/i18n"
)

// An ExitStatus is how a child ended.
type ExitStatus struct {
	// Code is the exit code; -1 if the child was killed or the code is unknown.
	Code int
	// Signal is the name of the signal that killed the child; empty if it exited.
	Signal string
	// Err says why the exit status is unknown.
	Err error
}

// String returns for example "exit status 1" or "killed by SIGKILL".
func (s ExitStatus) String() string { return s.In(i18n.English) }

// In returns the text in a language.
func (s ExitStatus) In(l i18n.Lang) string {
	switch {
	case s.Err != nil:
		return l.Of(s.Err)
	case s.Signal != "":
		return i18n.New("killed by %s", "被 %s 终止", s.Signal).In(l)
	default:
		return i18n.New("exit status %d", "退出状态 %d", s.Code).In(l)
	}
}
