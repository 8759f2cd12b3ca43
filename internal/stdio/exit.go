package stdio

import "fmt"

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
func (s ExitStatus) String() string {
	switch {
	case s.Err != nil:
		return s.Err.Error()
	case s.Signal != "":
		return "killed by " + s.Signal
	default:
		return fmt.Sprintf("exit status %d", s.Code)
	}
}
