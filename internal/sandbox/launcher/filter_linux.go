//go:build amd64 || arm64

package launcher

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Verdicts of the filter.
const (
	allow  = unix.SECCOMP_RET_ALLOW
	ask    = unix.SECCOMP_RET_USER_NOTIF
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	deny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

	// next leaves the call to the rules that follow.
	next = unix.SECCOMP_RET_LOG
)

// A rule decides on some system calls: the verdict of the first clause that
// matches, or otherwise.
type rule struct {
	name      string
	calls     []uint32
	clauses   []clause
	otherwise uint32
}

// A clause gives its verdict if all its conditions hold.
type clause struct {
	when    []condition
	verdict uint32
}

// A condition holds if argument & mask equals value. All checked arguments are
// 32-bit numbers, of which the kernel ignores the upper half.
type condition struct {
	arg         uint32
	mask, value uint32
}

func is(arg, value uint32) condition { return condition{arg, 0xffffffff, value} }

// none holds if an argument has none of the flags.
func none(arg, flags uint32) condition { return condition{arg, flags, 0} }

// namespaces are the clone flags that create a namespace.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// rules returns the whole filter of a profile. A call without a rule is allowed.
func rules(p Profile, abi int) []rule {
	connect := uint32(ask)
	if !p.Public && len(p.Addresses) == 0 && !p.Unix {
		connect = deny
	}
	all := []rule{
		socketRule(p),
		{name: "connect", calls: []uint32{unix.SYS_CONNECT}, otherwise: connect},
		{name: "chmod", calls: append([]uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMOD}, LegacyChmod...), otherwise: ask},
		// Programs fall back to fchmodat and clone, whose arguments the filter can
		// read.
		{name: "chmod", calls: []uint32{unix.SYS_FCHMODAT2}, otherwise: absent},
		{name: "clone", calls: []uint32{unix.SYS_CLONE3}, otherwise: absent},
		{name: "clone", calls: []uint32{unix.SYS_CLONE}, clauses: []clause{{[]condition{none(0, namespaces)}, allow}}, otherwise: refuse},
		// The names of files in a folder can be learnt by watching it.
		{name: "watch", calls: []uint32{unix.SYS_INOTIFY_ADD_WATCH}, otherwise: ask},
		// A datagram socket of a pair can send to other sockets. Families other than
		// unix have pairs, too.
		{name: "socketpair", calls: []uint32{unix.SYS_SOCKETPAIR}, clauses: []clause{
			{[]condition{is(0, unix.AF_UNIX), {1, 0xf, unix.SOCK_STREAM}}, allow}, {[]condition{is(0, unix.AF_UNIX), {1, 0xf, unix.SOCK_SEQPACKET}}, allow},
		}, otherwise: refuse},
		{name: "fastopen", calls: []uint32{unix.SYS_SENDTO, unix.SYS_SENDMMSG}, clauses: []clause{{[]condition{none(3, unix.MSG_FASTOPEN)}, allow}}, otherwise: refuse},
		{name: "fastopen", calls: []uint32{unix.SYS_SENDMSG}, clauses: []clause{{[]condition{none(2, unix.MSG_FASTOPEN)}, allow}}, otherwise: refuse},
		{name: "io_uring", calls: []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}, otherwise: absent},
		{name: "reaper", calls: []uint32{unix.SYS_PRCTL}, clauses: []clause{{[]condition{is(0, unix.PR_SET_CHILD_SUBREAPER)}, refuse}}, otherwise: allow},
		// A process may change only its own limits.
		{name: "prlimit", calls: []uint32{unix.SYS_PRLIMIT64}, clauses: []clause{{[]condition{is(0, 0)}, allow}}, otherwise: refuse},
	}
	for _, request := range ioctls {
		all = append(all, rule{name: "ioctl", calls: []uint32{unix.SYS_IOCTL}, clauses: []clause{{[]condition{is(1, request)}, refuse}}, otherwise: next})
	}
	all = append(all, setIDRules()...)
	for name, calls := range refused {
		all = append(all, rule{name: name, calls: calls, otherwise: refuse})
	}
	if !p.Listen {
		all = append(all, rule{name: "listen", calls: []uint32{unix.SYS_LISTEN}, otherwise: refuse})
	}
	if abi < 3 { // later versions have an access right for it
		// A file that is opened for reading can be emptied by the same call.
		emptied := func(flags uint32) []clause {
			return []clause{{[]condition{{flags, unix.O_ACCMODE | unix.O_TRUNC, unix.O_RDONLY | unix.O_TRUNC}}, refuse}}
		}
		all = append(all, rule{name: "truncate", calls: []uint32{unix.SYS_TRUNCATE}, otherwise: refuse},
			rule{name: "truncate", calls: []uint32{unix.SYS_OPENAT}, clauses: emptied(2), otherwise: allow},
			rule{name: "truncate", calls: LegacyOpen, clauses: emptied(1), otherwise: allow})
	}
	return all
}

// setIDRules refuse to create files that run with the rights of their owner or
// group: another user of the machine could run them. The helper does the same for
// chmod. The mode of openat2 is in memory, where the filter cannot read it; programs
// fall back to openat.
func setIDRules() []rule {
	list := []rule{{name: "set-id", calls: []uint32{unix.SYS_OPENAT2}, otherwise: absent}}
	has := func(arg, flag uint32) condition { return condition{arg, flag, flag} }
	for _, bit := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		node := func(mode uint32) []clause { return []clause{{[]condition{has(mode, bit)}, refuse}} }
		opened := func(flags uint32) []clause {
			const temporary = unix.O_TMPFILE &^ unix.O_DIRECTORY
			return []clause{{[]condition{has(flags, unix.O_CREAT), has(flags+1, bit)}, refuse}, {[]condition{has(flags, temporary), has(flags+1, bit)}, refuse}}
		}
		list = append(list, rule{name: "set-id", calls: []uint32{unix.SYS_OPENAT}, clauses: opened(2), otherwise: next},
			rule{name: "set-id", calls: LegacyOpen, clauses: opened(1), otherwise: next},
			rule{name: "set-id", calls: []uint32{unix.SYS_MKNODAT}, clauses: node(2), otherwise: next},
			rule{name: "set-id", calls: legacyCreate, clauses: node(1), otherwise: next})
	}
	return list
}

// ioctls change a file that is open for reading only, or put words into the
// terminal of the user. Landlock does not restrict them.
var ioctls = []uint32{unix.FS_IOC_SETFLAGS, fsSetXattr, unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY, unix.TIOCSTI, unix.TIOCLINUX}

// fsSetXattr is FS_IOC_FSSETXATTR.
const fsSetXattr = 0x401c5820

// watched is the filter of a process that is not confined: the kernel reports to the
// helper what the process opens, runs and connects to.
var watched = []rule{
	{name: "learn", calls: slices.Concat([]uint32{
		unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_CONNECT, unix.SYS_LISTEN,
		unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
	}, LegacyOpen, LegacyChange), otherwise: ask},
	{name: "io_uring", calls: []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}, otherwise: absent},
}

func socketRule(p Profile) rule {
	r := rule{name: "socket", calls: []uint32{unix.SYS_SOCKET}, otherwise: deny}
	permit := func(when ...condition) { r.clauses = append(r.clauses, clause{when, allow}) }
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		for _, protocol := range []uint32{0, unix.IPPROTO_TCP} {
			permit(is(0, family), condition{1, 0xf, unix.SOCK_STREAM}, is(2, protocol))
		}
		if !p.Public {
			continue
		}
		for _, protocol := range []uint32{0, unix.IPPROTO_UDP} {
			permit(is(0, family), condition{1, 0xf, unix.SOCK_DGRAM}, is(2, protocol))
		}
	}
	permit(is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE))
	if p.Unix {
		permit(is(0, unix.AF_UNIX))
	}
	return r
}

// refused are calls that no server needs and that reach outside the sandbox.
var refused = map[string][]uint32{
	"chown":   append([]uint32{unix.SYS_FCHOWNAT, unix.SYS_FCHOWN}, legacyChown...),
	"xattr":   {unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR},
	"mount":   {unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD},
	"unshare": {unix.SYS_UNSHARE, unix.SYS_SETNS},
	"handle":  {unix.SYS_OPEN_BY_HANDLE_AT},
	"ptrace":  {unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP},
	"kernel": append([]uint32{
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_VHANGUP, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_FANOTIFY_INIT,
	}, legacyKernel...),
	"keys": {unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL},
	// Memory and queues that other programs of the user share by number or name.
	"ipc": {unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN},
}

// Offsets in the data that a filter sees: the number of the call, the architecture,
// and the lower halves of the arguments.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// assemble compiles rules to a program. Each rule is independent: it ends with a
// verdict, or is skipped if the call has another number.
func assemble(list []rule) []unix.SockFilter {
	prog := []unix.SockFilter{load(atArch), equal(auditArch, 1, 0), verdict(absent), load(atNumber)}
	if foreignNumbers != 0 {
		prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: foreignNumbers, Jf: 1}, verdict(absent))
	}
	for _, r := range list {
		body := r.body()
		for _, call := range r.calls {
			prog = append(prog, equal(call, 0, uint8(len(body))))
			prog = append(prog, body...)
		}
	}
	return append(prog, verdict(allow))
}

func (r rule) body() []unix.SockFilter {
	var body []unix.SockFilter
	for _, c := range r.clauses {
		for i, w := range c.when {
			left := len(c.when) - i - 1
			body = append(body, load(atArgs+8*w.arg), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: w.mask}, equal(w.value, 0, uint8(3*left+1)))
		}
		body = append(body, verdict(c.verdict))
	}
	if r.otherwise == next {
		return append(body, load(atNumber))
	}
	return append(body, verdict(r.otherwise))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func equal(value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: yes, Jf: no}
}

func verdict(v uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: v}
}
