//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// launcherArgs is the launcher's command line; tests extend it.
var launcherArgs = []string{"mcp-all-in-one", launcher.Command}

// Launch starts the launcher with the three standard files of attr. The process
// exists when Launch returns, and is the server when wait has returned nil. wait
// must be called exactly once. It starts a goroutine that ends with the server.
func Launch(r Request, attr *syscall.ProcAttr) (pid int, wait func() error, err error) {
	request, err := json.Marshal(r)
	if err != nil {
		return 0, nil, err
	}
	var fds [6]int // alternating: ours, the launcher's
	made := 0
	defer func() {
		for i, fd := range fds[:made] {
			if i%2 == 1 || err != nil {
				unix.Close(fd)
			}
		}
	}()
	var pair [2]int
	pipe := func(make func() error, ours, theirs int) error {
		if err := make(); err != nil {
			return err
		}
		fds[made], fds[made+1] = pair[ours], pair[theirs]
		made += 2
		return nil
	}
	newPipe := func() error { return unix.Pipe2(pair[:], unix.O_CLOEXEC) }
	if err = pipe(newPipe, 1, 0); err != nil {
		return 0, nil, err
	}
	if err = pipe(newPipe, 0, 1); err != nil {
		return 0, nil, err
	}
	newSocket := func() (err error) {
		pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	}
	if err = pipe(newSocket, 0, 1); err != nil {
		return 0, nil, err
	}
	attr.Files = append(attr.Files, uintptr(fds[1]), uintptr(fds[3]), uintptr(fds[5]))
	attr.Env = []string{}
	if pid, err = syscall.ForkExec("/proc/self/exe", launcherArgs, attr); err != nil {
		return 0, nil, err
	}
	return pid, func() error { return follow(r.Profile, request, fds[0], fds[2], fds[4]) }, nil
}

// follow sends the launcher its request and waits until it has become the server.
func follow(p Profile, request []byte, requestTo, errorFrom, socket int) error {
	defer unix.Close(socket)
	to := os.NewFile(uintptr(requestTo), "request")
	_, writing := to.Write(request)
	to.Close()
	if p.Learn != "" {
		// The launcher's own execve is noted like any other call, so answer must
		// already run. A launcher that fails earlier reports its error below.
		if listener, err := receive(socket, 0); err == nil {
			go answer(p, listener, newRepeated())
		}
	}
	from := os.NewFile(uintptr(errorFrom), "error")
	text, err := io.ReadAll(from)
	from.Close()
	switch {
	case err != nil:
		return err
	case len(text) > 0:
		return parseFailure(string(text))
	case writing != nil:
		return writing
	case p.Learn != "":
		return nil
	}
	listener, err := receive(socket, unix.MSG_DONTWAIT)
	if err != nil {
		return &SetupError{"listener", err}
	}
	go answer(p, listener, newRepeated())
	return nil
}

// parseFailure parses the launcher's error: stage, errno, text.
func parseFailure(text string) error {
	stage, rest, _ := strings.Cut(text, " ")
	number, said, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(number)
	errno := syscall.Errno(n)
	if said == errno.Error() || stage == launcher.StageExec {
		return &SetupError{stage, errno}
	}
	return &SetupError{stage, i18n.Errorf("%s", "%s", said)}
}

// receive receives the listener from the launcher.
func receive(socket, flags int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC|flags)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) == 0 {
		return -1, errors.Join(err, unix.EBADMSG)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(err, unix.EBADMSG)
	}
	return fds[0], nil
}

const able = true

// mayAnswer reports whether a process may read the memory of its children, which is
// needed to answer their calls.
func mayAnswer() bool {
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return true
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(scope)))
	return n < 2 || n == 2 && os.Geteuid() == 0
}
