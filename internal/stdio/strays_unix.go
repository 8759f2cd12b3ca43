//go:build unix

package stdio

import (
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Where orphans go to the nearest reaper, we are one too: what a helper leaves
// behind when it is killed becomes ours, however it hid.
//
// Of our children, those are strays that are in another session than we and
// are no helper: helpers have a session of their own, and so has everything
// that they started; what we start otherwise stays in ours.

// helpers are the process ids of all helpers that this process started.
// Holding it keeps a new one from being taken for a stray.
var helpers = struct {
	sync.Mutex
	pids   map[int]bool
	reaper bool // what they leave behind becomes ours
	warned bool // that it does not
}{pids: make(map[int]bool)}

// startReaped starts a helper, once we are the reaper of what it may leave.
// Where the system refuses that, a warning has to do.
func startReaped(cmd *exec.Cmd, log *slog.Logger) error {
	helpers.Lock()
	defer helpers.Unlock()
	var err error
	if helpers.reaper, err = becomeReaper(); err != nil && !helpers.warned {
		helpers.warned = true
		log.Warn("the system does not give us orphans: a daemon that a server leaves behind may outlive it", "err", err)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	helpers.pids[cmd.Process.Pid] = true
	return nil
}

// waitReaped waits for the end of a helper.
func waitReaped(cmd *exec.Cmd) error {
	err := cmd.Wait()
	helpers.Lock()
	defer helpers.Unlock()
	delete(helpers.pids, cmd.Process.Pid)
	return err
}

// killStrays kills what a dead helper left behind and reaps it. It ends when
// nothing is left, which is soon, or after endWait.
func killStrays() {
	helpers.Lock()
	defer helpers.Unlock()
	if !helpers.reaper {
		return
	}
	var f family
	f.init(os.Getpid(), true)
	for limit := time.Now().Add(endWait); time.Now().Before(limit); time.Sleep(pollWait) {
		strays := f.strays(processes())
		if len(strays) == 0 {
			return
		}
		for _, p := range strays {
			if !p.zombie {
				_ = unix.Kill(p.pid, unix.SIGKILL)
			}
			if p.ppid == f.self {
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// strays are our adopted children in a process table, with what descends from
// them. What those fork meanwhile is found the next time.
func (f *family) strays(list []proc) (found []proc) {
	f.index(list)
	session := f.table[f.self].sid
	for _, p := range list {
		top, ok := f.top(p)
		if ok && top.sid != session && !helpers.pids[top.pid] {
			found = append(found, p)
		}
	}
	return found
}
