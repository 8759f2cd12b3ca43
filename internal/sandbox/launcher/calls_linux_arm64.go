package launcher

import "golang.org/x/sys/unix"

const (
	auditArch      = unix.AUDIT_ARCH_AARCH64
	foreignNumbers = 0
)

var (
	LegacyChmod  []uint32
	LegacyOpen   []uint32
	LegacyChange []uint32
	legacyCreate []uint32
	legacyChown  []uint32
	legacyKernel = []uint32{unix.SYS_KEXEC_FILE_LOAD}
)
