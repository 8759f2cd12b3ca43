//go:build unix

package stdio

import (
	"crypto/rand"
	"os"
	"slices"
	"syscall"
	"time"

	"mcp-all-in-one/internal/sandbox"
)

// containerWait is how long an engine may take to end a container.
const containerWait = 4 * time.Second

// endContainers is a shell script that ends the containers with a label.
const endContainers = `for id in $("$0" ps -aq --filter "label=$1"); do "$0" $2 "$id"; done`

// An ending is the command that ends a container.
type ending struct{ argv, env []string }

// label adds a label to the container that a command runs, and returns the command
// that ends it. A container is a child of its engine's daemon, so it outlives the
// program that was killed, unless it heeds the end of its input.
func label(path string, argv, env []string) ([]string, *ending) {
	if len(argv) < 3 || argv[1] != "run" || !sandbox.IsEngine(path) {
		return argv, nil
	}
	label, how := "mcp-all-in-one="+rand.Text(), "kill"
	if slices.Contains(argv, "--rm") {
		how = "rm -f"
	}
	return slices.Insert(argv, 2, "--label", label), &ending{[]string{"/bin/sh", "-c", endContainers, path, label, how}, env}
}

// endContainer ends the container of a child that was killed. It reports whether
// that was begun; the child has not ended before its container.
func (s *starter) endContainer(k *kid) bool {
	command := k.container
	k.container = nil
	if command == nil || !k.status.Signaled() {
		return false
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer null.Close()
	fd := null.Fd()
	pid, err := syscall.ForkExec(command.argv[0], command.argv, &syscall.ProcAttr{Dir: "/", Env: command.env, Files: []uintptr{fd, fd, fd}, Sys: childAttr()})
	if err != nil {
		return false
	}
	k.pid, k.exited, k.killed, k.ending, k.until = pid, false, false, true, time.Now().Add(containerWait)
	s.family.add(k.id, pid, nil)
	return true
}

// isEnding reports whether the container of a child is being ended.
func (s *starter) isEnding() bool {
	for _, k := range s.kids {
		if k.ending && !k.killed {
			return true
		}
	}
	return false
}
