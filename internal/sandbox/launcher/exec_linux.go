//go:build amd64 || arm64

package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The launcher's files: the request is read from the first, an error is written to
// the second, and the filter's listener is sent over the third. All are closed when
// the server starts.
const (
	requestFile = 3
	errorFile   = 4
	socketFile  = 5
)

// Packages are initialized in the order of their paths, each after its imports. So
// this runs before most of the program is initialized.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Command {
		os.Exit(Exec())
	}
}

// Exec is the main function of the launcher: it confines this process and executes
// the server. It returns only if it fails, after it has sent the reason to the
// helper.
func Exec() int {
	// A filter belongs to a thread, so the same thread must make the last call.
	runtime.LockOSThread()
	err := become()
	errno := syscall.EINVAL
	_ = errors.As(err.err, &errno)
	fmt.Fprintf(os.NewFile(errorFile, "error"), "%s %d %v", err.stage, int(errno), err.err)
	return 127
}

// A failure says at which stage the launcher failed.
type failure struct {
	stage string
	err   error
}

func become() failure {
	first := uint(requestFile)
	if Omitted["close"] {
		first = socketFile + 1000
	}
	if err := unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return failure{"files", err}
	}
	data, err := io.ReadAll(os.NewFile(requestFile, "request"))
	if err != nil {
		return failure{"request", err}
	}
	var r Request
	if err := json.Unmarshal(data, &r); err != nil {
		return failure{"request", err}
	}
	path, argv, env, err := vectors(r)
	if err != nil {
		return failure{StageExec, err}
	}
	abi := ABI()
	if r.Profile.Learn == "" {
		if err := dropCapabilities(); err != nil {
			return failure{"capabilities", err}
		}
	}
	// A process that the server forks and leaves behind becomes the server's child
	// again, so that the helper finds it. The setting survives exec, and the filter
	// prevents the server from clearing it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return failure{"reaper", err}
	}
	filter := kept(rules(r.Profile, abi))
	if r.Profile.Learn != "" {
		filter, err = watched, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) // a filter requires it
	} else {
		err = restrictFiles(r.Profile, abi)
	}
	if err != nil {
		return failure{"landlock", err}
	}
	listener, err := install(assemble(filter))
	if err != nil {
		return failure{"seccomp", err}
	}
	if err := unix.Sendmsg(socketFile, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return failure{"listener", err}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	return failure{StageExec, errno}
}

// vectors returns the arguments of execve. They are made before the process is
// confined, so that nothing is left to do afterwards.
func vectors(r Request) (path *byte, argv, env []*byte, err error) {
	if path, err = unix.BytePtrFromString(string(r.Path)); err != nil {
		return nil, nil, nil, err
	}
	pointers := func(list [][]byte) ([]*byte, error) {
		out := make([]*byte, len(list)+1)
		for i, s := range list {
			if out[i], err = unix.BytePtrFromString(string(s)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if argv, err = pointers(r.Argv); err != nil {
		return nil, nil, nil, err
	}
	env, err = pointers(r.Env)
	return path, argv, env, err
}

// keptCapabilities are the capabilities that root may keep. They concern files,
// which Landlock restricts. With no_new_privs, exec restores none of the others.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_FSETID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities drops all other capabilities of a confined root.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if Omitted["capabilities"] {
		return nil
	}
	data[0].Permitted &= keptCapabilities
	data[0].Effective, data[0].Inheritable = data[0].Permitted, 0
	data[1] = unix.CapUserData{}
	return unix.Capset(&header, &data[0])
}

// install adds a filter to this thread and returns its listener, which is
// close-on-exec.
func install(prog []unix.SockFilter) (listener int, err error) {
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// A signal must not restart a call that the helper has already made. Kernels
	// before 5.19 do not support that flag.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	var fd uintptr
	var errno unix.Errno
	if !Omitted["wait"] {
		fd, _, errno = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	}
	if errno == unix.EINVAL || Omitted["wait"] {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		fd, _, errno = unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Omitted are rules that a test removes, to show that these rules stop an attack.
var Omitted = map[string]bool{}

func kept(list []rule) []rule {
	var out []rule
	for _, r := range list {
		if !Omitted[r.name] {
			out = append(out, r)
		}
	}
	return out
}
