//go:build unix

package stdio

import (
	"errors"
	"syscall"

	"mcp-all-in-one/internal/sandbox"
)

// launched is the result of starting a confined child.
type launched struct {
	id  uint64
	err error
}

// startConfined starts the launcher of a sandbox. The child is reported as started
// when the launcher has executed it.
func (s *starter) startConfined(e envelope, attr *syscall.ProcAttr) {
	pid, wait, err := sandbox.Launch(sandbox.Request{Profile: *e.Profile, Path: e.Path, Argv: e.Argv, Env: e.Env}, attr)
	if err != nil {
		s.failed(e.ID, err)
		return
	}
	s.kids[e.ID] = &kid{id: e.ID, pid: pid, confining: true}
	s.family.add(e.ID, pid, e.fds)
	s.step = 0
	go func() { s.launched <- launched{e.ID, wait()} }()
}

// reportLaunch reports that a launcher has executed its child, or has failed.
func (s *starter) reportLaunch(l launched) {
	k := s.kids[l.id]
	if k == nil {
		return
	}
	k.confining = false
	if l.err != nil {
		s.failed(l.id, l.err)
		return
	}
	s.report(report{Kind: kindStarted, ID: l.id, PID: k.pid})
}

func (s *starter) failed(id uint64, err error) {
	r := report{Kind: kindFailed, ID: id, Error: err.Error()}
	if setup, ok := errors.AsType[*sandbox.SetupError](err); ok {
		r.Stage, r.Error = setup.Stage, setup.Err.Error()
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		r.Errno = int(errno)
	}
	s.report(r)
}
