package launcher

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignNumbers is the first call number of x32.
	foreignNumbers = 0x40000000
)

// Calls that arm64 does not have.
var (
	LegacyChmod = []uint32{unix.SYS_CHMOD}
	// LegacyOpen opens the path of the first argument with the flags of the
	// second, LegacyChange changes the folder of the path of the first.
	LegacyOpen   = []uint32{unix.SYS_OPEN}
	LegacyChange = []uint32{unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_RENAME}
	// legacyCreate makes a file with the mode of the second argument.
	legacyCreate = []uint32{unix.SYS_CREAT, unix.SYS_MKNOD}
	legacyChown  = []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN}
	legacyKernel = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD}
)
