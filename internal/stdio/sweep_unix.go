//go:build unix

package stdio

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reap collects everything that has died. It reports whether any child is
// left to die.
func (s *starter) reap() (more bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false
		case pid == 0:
			return true
		}
		for _, k := range s.kids {
			if k.pid == pid && !k.exited {
				k.exited, k.status = true, status
				k.until = time.Now().Add(sweepWait)
				s.family.orphan(pid)
				// At once, and where the process table cannot be read, alone.
				_ = unix.Kill(-pid, unix.SIGKILL)
			}
		}
	}
}

// tend looks at all processes when there is a reason to, kills what has to
// die, reports the children that are gone, and sets the time to look again.
func (s *starter) tend() {
	wait := lookAgain[s.step]
	if s.hasDying() {
		wait = s.sweep()
	} else if len(s.kids) > 0 && s.step > 0 {
		s.family.survey(processes())
	}
	if len(s.kids) == 0 {
		wait = time.Hour
	}
	s.look.Reset(wait)
}

func (s *starter) hasDying() bool {
	for _, k := range s.kids {
		if k.exited || k.killed {
			return true
		}
	}
	return false
}

// sweep kills the trees of the children that have ended or must. It returns
// when to look again.
func (s *starter) sweep() time.Duration {
	trees := s.freeze()
	// What was dead in the table is reaped before its child is reported gone.
	s.reap()
	wait := lookAgain[s.step]
	for id, k := range s.kids {
		if !k.exited && !k.killed {
			continue
		}
		for _, p := range trees[id] {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		if !k.exited {
			_ = unix.Kill(-k.pid, unix.SIGKILL)
		}
		late := time.Now().After(k.until)
		if k.confining {
			continue // its failure is reported before its end
		}
		if k.exited && (late || len(trees[id]) == 0) {
			s.gone(k)
		} else if !late {
			wait = pollWait
		}
	}
	if len(s.kids) == 0 {
		s.family.killStrays(processes())
	}
	return wait
}

// freeze stops the trees that are about to be killed, until nothing new is
// seen in them: what is stopped cannot fork while it is being killed. It
// returns the trees of all children.
func (s *starter) freeze() map[uint64][]proc {
	stopped := make(map[procKey]bool)
	trees := s.family.survey(processes())
	for range 20 {
		fresh := false
		for id, k := range s.kids {
			if !k.exited && !k.killed {
				continue
			}
			for _, p := range trees[id] {
				if !stopped[p.key()] {
					stopped[p.key()] = true
					fresh = true
					_ = unix.Kill(p.pid, unix.SIGSTOP)
				}
			}
		}
		if !fresh {
			break
		}
		trees = s.family.survey(processes())
	}
	return trees
}

// gone reports the end of a child.
func (s *starter) gone(k *kid) {
	delete(s.kids, k.id)
	s.family.remove(k.id)
	r := report{Kind: kindExit, ID: k.id, Code: k.status.ExitStatus()}
	if k.status.Signaled() {
		r.Signal = int(k.status.Signal())
	}
	s.report(r)
}

// report tells the gateway; when it is dead there is nobody to tell.
func (s *starter) report(r report) { _ = s.link.send(r) }

// end kills everything and waits for it. Where orphans become our children,
// nothing is left when there is no child to wait for.
func (s *starter) end(died <-chan os.Signal) {
	for _, k := range s.kids {
		k.kill()
		k.confining = false // nobody waits for it any more
	}
	for limit := time.Now().Add(endWait); time.Now().Before(limit); {
		s.sweep()
		s.family.killStrays(processes())
		if more := s.reap(); !more && len(s.kids) == 0 {
			return
		}
		select {
		case <-died:
		case <-time.After(pollWait):
		}
	}
}
