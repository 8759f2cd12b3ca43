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

// On systems where orphans go to the nearest reaper, the gateway is a reaper too:
// it inherits every process that a killed helper leaves behind.
//
// A stray is a child process of the gateway that is no helper and is in another
// session. Helpers and all processes that they start are in sessions of their own;
// other processes that the gateway starts stay in the gateway's session.

// helpers are the process ids of all helpers that this process started. Holding the
// lock prevents a new helper from being taken for a stray.
var helpers = struct {
	sync.Mutex
	pids   map[int]bool
	reaper bool // this process inherits their orphans
	warned bool // the warning that it does not was logged
}{pids: make(map[int]bool)}

// startReaped starts a helper after making this process the reaper of its orphans.
// If the system refuses that, it only logs a warning.
func startReaped(cmd *exec.Cmd, log *slog.Logger) error {
	helpers.Lock()
	defer helpers.Unlock()
	var err error
	if helpers.reaper, err = becomeReaper(); err != nil && !helpers.warned {
		helpers.warned = true
		log.Warn("cannot become the reaper of orphaned processes: a daemon that a server starts may outlive it", "err", err)
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

// killStrays kills and reaps the processes that a dead helper left behind. It
// returns when none is left, which is soon, or after endWait.
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

// strays returns the strays in a process table and their descendants. Processes
// that they fork meanwhile are found by the next call.
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
