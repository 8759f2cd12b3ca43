//go:build unix

package stdio

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reap reaps all exited processes. It reports whether any child processes are left.
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
				k.exited = true
				if !k.ending {
					k.status = status
				}
				k.until = time.Now().Add(sweepWait)
				s.family.orphan(pid)
				// Kill the group at once. If the process table cannot be read, this is
				// all that is killed.
				_ = unix.Kill(-pid, unix.SIGKILL)
			}
		}
	}
}

// tend surveys the processes if necessary, kills the processes that must die,
// reports the children that have exited, and sets the timer for the next look.
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
		if k.exited || k.killed || k.ending {
			return true
		}
	}
	return false
}

// sweep kills the trees of the children that have exited or must be killed. It
// returns when to look again.
func (s *starter) sweep() time.Duration {
	trees := s.freeze()
	// Reap the dead processes of the table before their child is reported as exited.
	s.reap()
	wait := lookAgain[s.step]
	for id, k := range s.kids {
		if k.ending && !k.exited && !k.killed {
			wait, k.killed = pollWait, time.Now().After(k.until)
		}
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
			continue // its failure must be reported before its exit
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

// freeze stops the processes that are about to be killed, until no new ones appear:
// a stopped process cannot fork while its tree is being killed. It returns the
// trees of all children.
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

// gone reports the exit of a child, once its container has ended, too.
func (s *starter) gone(k *kid) {
	s.family.remove(k.id)
	if s.endContainer(k) {
		return
	}
	delete(s.kids, k.id)
	r := report{Kind: kindExit, ID: k.id, Code: k.status.ExitStatus()}
	if k.status.Signaled() {
		r.Signal = int(k.status.Signal())
	}
	s.report(r)
}

// report sends a report to the gateway. The error does not matter: it means that
// the gateway is dead.
func (s *starter) report(r report) { _ = s.link.send(r) }

// end kills all processes and waits for them. If orphans become our children, no
// process is left when there is no child to wait for.
func (s *starter) end(died <-chan os.Signal) {
	for _, k := range s.kids {
		k.kill()
		k.confining = false // its failure need not be reported
	}
	for limit := time.Now().Add(endWait); time.Now().Before(limit); {
		s.sweep()
		if !s.isEnding() {
			s.family.killStrays(processes())
		}
		if more := s.reap(); !more && len(s.kids) == 0 {
			return
		}
		select {
		case <-died:
		case <-time.After(pollWait):
		}
	}
}
