package launcher

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignNumbers is the first call number of x32.
	foreignNumbers = 0x40000000
)

// Calls that arm64 does not have.
var (
	LegacyChmod  = []uint32{unix.SYS_CHMOD}
	legacyChown  = []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN}
	legacyKernel = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD}
)
