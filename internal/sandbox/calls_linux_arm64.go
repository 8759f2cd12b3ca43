package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch      = unix.AUDIT_ARCH_AARCH64
	foreignNumbers = 0
)

var (
	legacyChmod  []uint32
	legacyChown  []uint32
	legacyKernel = []uint32{unix.SYS_KEXEC_FILE_LOAD}
)
