//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are the attacks that the test program runs. Each returns nil if it
// succeeded.
var attacks = map[string]func([]string) error{
	"read":     func(a []string) error { _, err := os.ReadFile(a[0]); return err },
	"list":     func(a []string) error { _, err := os.ReadDir(a[0]); return err },
	"create":   func(a []string) error { return os.WriteFile(a[0], []byte("x"), 0o600) },
	"append":   func(a []string) error { f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_APPEND, 0); f.Close(); return err },
	"remove":   func(a []string) error { return os.Remove(a[0]) },
	"truncate": func(a []string) error { return unix.Truncate(a[0], 0) },
	"empty": func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_RDONLY|os.O_TRUNC, 0)
		f.Close()
		return err
	},
	"empty2": func(a []string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, a[0], &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_TRUNC})
		unix.Close(fd)
		return err
	},
	"rename": func(a []string) error { return errors.Join(os.WriteFile("mine", nil, 0o600), os.Rename("mine", a[0])) },
	"link":   func(a []string) error { return os.Link(a[0], "stolen") },
	"symlink": func(a []string) error {
		_, err := os.ReadFile(linked(a[0]))
		return err
	},
	"environ": func([]string) error {
		_, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/environ")
		return err
	},
	"device": func([]string) error { return unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))) },
	"stat":   func(a []string) error { _, err := os.Stat(a[0]); return err },
	"exec":   func([]string) error { return exec.Command("/bin/true").Run() },

	"chmod":    func(a []string) error { return os.Chmod(a[0], 0o777) },
	"fchmodat": func(a []string) error { return unix.Fchmodat(unix.AT_FDCWD, a[0], 0o777, 0) },
	"chmod through a link": func(a []string) error {
		return os.Chmod(linked(a[0]), 0o777)
	},
	"fchmodat2": func(a []string) error {
		path, _ := unix.BytePtrFromString(a[0])
		dir := int32(unix.AT_FDCWD)
		return call(unix.SYS_FCHMODAT2, uintptr(dir), uintptr(unsafe.Pointer(path)), 0o777, 0)
	},
	"fchmod": func(a []string) error {
		f, err := os.Open(a[0])
		if err != nil {
			return err
		}
		return f.Chmod(0o777)
	},
	"chown": func(a []string) error { return os.Chown(a[0], os.Getuid(), os.Getgid()) },
	"xattr": func(a []string) error { return unix.Setxattr(a[0], "user.x", []byte("x"), 0) },
	"handle": func(a []string) error {
		h, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
		if err != nil {
			return fmt.Errorf("name_to_handle_at: %w", err)
		}
		_ = mount
		dir, err := unix.Open(".", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
		return err
	},
	"watch": func(a []string) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, a[0], unix.IN_ALL_EVENTS)
		}
		return err
	},
	"watch through a link": func(a []string) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, linked(a[0]), unix.IN_ALL_EVENTS)
		}
		return err
	},
	"watch and see": watchAndSee,
	"attributes": func(a []string) error {
		f, err := os.Open(a[0])
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0x40) // FS_NODUMP_FL
	},
	"set-id file": func([]string) error { return setID(unix.Open("rights", unix.O_CREAT|unix.O_WRONLY, 0o4755)) },
	"set-id file2": func([]string) error {
		return setID(unix.Openat2(unix.AT_FDCWD, "rights", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}))
	},
	"set-id node": func([]string) error {
		return setID(0, unix.Mknod("rights", unix.S_IFREG|0o2755, 0))
	},
	"set-id chmod": func([]string) error {
		return errors.Join(os.WriteFile("rights", nil, 0o600), unix.Chmod("rights", 0o4755))
	},
	"inherited": func(a []string) error {
		fd, _ := strconv.Atoi(a[0])
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err
	},

	"tcp":      func(a []string) error { return dial("tcp", a[0]) },
	"udp":      func(a []string) error { return send("udp", a[0]) },
	"unix":     func(a []string) error { return dial("unix", a[0]) },
	"mptcp":    func([]string) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) },
	"raw":      func([]string) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"packet":   func([]string) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"netlink":  func([]string) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT) },
	"route":    func([]string) error { _, err := net.Interfaces(); return err },
	"pair":     func([]string) error { return pair(unix.SOCK_STREAM) },
	"dgram":    func([]string) error { return pair(unix.SOCK_DGRAM) },
	"fastopen": fastOpen,
	"listen": func([]string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Listen(fd, 1)
	},
	"other pair": func([]string) error {
		// No rule of the kernel allows it; the filter must answer before the kernel does.
		if _, err := unix.Socketpair(unix.AF_INET, unix.SOCK_STREAM, 0); err == unix.EPERM {
			return err
		}
		return nil
	},
	"bind": func([]string) error { l, err := net.Listen("tcp4", "127.0.0.1:0"); closeIf(l); return err },
	"io_uring": func([]string) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	},
	"race":        raceConnect,
	"interrupted": interrupted,

	"signal":    func([]string) error { return unix.Kill(os.Getppid(), 0) },
	"own child": ownChild,
	"memory": func([]string) error {
		buf := make([]byte, 1)
		local := []unix.Iovec{{Base: &buf[0], Len: 1}}
		_, err := unix.ProcessVMReadv(os.Getppid(), local, []unix.RemoteIovec{{Base: textAddress(), Len: 1}}, 0)
		return err
	},
	"unshare": func([]string) error { return unix.Unshare(unix.CLONE_NEWUTS) },
	"clone": func([]string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUTS}
		return cmd.Run()
	},
	"mount": func([]string) error {
		if err := unix.Mount("none", "mounted", "tmpfs", 0, ""); err != nil {
			return err
		}
		return unix.Unmount("mounted", 0)
	},
	"chroot": func([]string) error { return unix.Chroot(".") },
	"bpf": func([]string) error {
		attr := [18]uint32{2, 4, 4, 1} // an array of one entry
		return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	},
	"keys": func([]string) error {
		_, err := unix.AddKey("user", "mcp-all-in-one-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	},
	"shared memory": func([]string) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	},
	"orphans": func([]string) error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) },
	"limits":  func([]string) error { return unix.Prlimit(os.Getppid(), unix.RLIMIT_CORE, nil, &unix.Rlimit{}) },
	"privileges": func([]string) error {
		if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n != 1 {
			return nil
		}
		return unix.EPERM
	},
}

// linked makes a symbolic link to a file and returns its name.
func linked(path string) string {
	if err := os.Symlink(path, "link"); err != nil {
		panic(err)
	}
	return "link"
}

func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func socket(family, kind, protocol int) error {
	_, err := unix.Socket(family, kind, protocol)
	return err
}

func pair(kind int) error {
	_, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	return err
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	closeIf(c)
	return err
}

func send(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		_, err = c.Write([]byte("x"))
	}
	closeIf(c)
	return err
}

func closeIf(c interface{ Close() error }) {
	if c != nil {
		defer func() { _ = recover() }() // c may hold a nil pointer
		c.Close()
	}
}

func inet(address string) *unix.SockaddrInet4 {
	a, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		panic(err)
	}
	return &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}
}

func fastOpen(a []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, inet(a[0]))
}

// raceConnect overwrites the allowed address with another one while it connects,
// again and again. The listener detects whether an attempt succeeded.
func raceConnect(a []string) error {
	allowed, denied := inet(a[0]), inet(a[1])
	var raw unix.RawSockaddrInet4
	raw.Family = unix.AF_INET
	set := func(s *unix.SockaddrInet4) {
		raw.Addr = s.Addr
		raw.Port = uint16(s.Port>>8) | uint16(s.Port&0xff)<<8
	}
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				set(denied)
				set(allowed)
			}
		}
	}()
	defer close(stop)
	through := 0
	for began, n := time.Now(), 0; n < 300 || through == 0 && time.Since(began) < 10*time.Second; n++ {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if call(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw)), unsafe.Sizeof(raw)) == nil {
			through++
		}
		unix.Close(fd)
	}
	if through == 0 {
		return errors.New("no connection at all")
	}
	return nil
}

// interrupted connects again and again while its thread gets signals. Each attempt
// must succeed: a call that a signal interrupts is made once.
func interrupted(a []string) error {
	runtime.LockOSThread()
	tid, stop, done := unix.Gettid(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
			}
		}
	}()
	defer func() { close(stop); <-done }()
	for i := range 300 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(fd, inet(a[0])); err != nil {
			return fmt.Errorf("attempt %d: %w", i, err)
		}
		unix.Close(fd)
	}
	return nil
}

// setID reports whether a file was made with the right of its owner or group.
func setID(fd int, err error) error {
	if err != nil {
		return err
	}
	unix.Close(fd)
	info, err := os.Stat("rights")
	if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) == 0 {
		err = errors.New("it has no such right")
	}
	return err
}

// watchAndSee watches the folder of the program and waits for the name of a new file.
func watchAndSee([]string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	wd, err := unix.InotifyAddWatch(fd, ".", unix.IN_CREATE)
	if err != nil {
		return err
	}
	if err := os.WriteFile("seen", nil, 0o600); err != nil {
		return err
	}
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if err != nil || !strings.Contains(string(buf[:n]), "seen") {
		return fmt.Errorf("%q, %v", buf[:n], err)
	}
	_, err = unix.InotifyRmWatch(fd, uint32(wd))
	return err
}

func ownChild([]string) error {
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		return fmt.Errorf("its end: %v", err)
	}
	return nil
}

// textAddress returns the address of the code of the parent, which is the same
// program.
func textAddress() uintptr {
	f := textAddress
	return **(**uintptr)(unsafe.Pointer(&f))
}
