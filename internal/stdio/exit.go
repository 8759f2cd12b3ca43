package stdio

import (
	"mcp-all-in-one/internal/i18n"
)

// An ExitStatus is how a child ended.
type ExitStatus struct {
	// Code is its exit code; -1 when it was killed or when nobody knows.
	Code int
	// Signal is the name of the signal that killed it; empty when it exited.
	Signal string
	// Err says why its end is not known.
	Err error
}

// String tells how the child ended: "exit status 1", "killed by SIGKILL".
func (s ExitStatus) String() string { return s.In(i18n.English) }

// In tells how the child ended in a language.
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
