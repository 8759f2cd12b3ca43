//go:build amd64 || arm64

package launcher

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Newest is the newest Landlock version that is used. A test sets an older one, to
// see what is left on a kernel of that time.
var Newest = math.MaxInt

// ABI returns the Landlock version of this kernel, zero if it has none.
func ABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return min(v, Newest)
}

// configs lists what each version can restrict. A newer version is used like the
// last one.
var configs = []landlock.Config{landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6}

const (
	readFile  = ll.AccessFSExecute | ll.AccessFSReadFile
	readDir   = readFile | ll.AccessFSReadDir
	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	// Creating devices is not included: root could create the disk.
	writeDir = readDir | writeFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
)

// restrictFiles confines all threads of this process with Landlock: files and, if
// the kernel supports it, signals and TCP. It also sets no_new_privs.
func restrictFiles(p Profile, abi int) error {
	if abi == 0 {
		return unix.EOPNOTSUPP
	}
	cfg := configs[min(abi, len(configs))-1]
	restrictMore(p, &cfg)
	var list []landlock.Rule
	add := func(paths []string, file, dir landlock.AccessFSSet) error {
		for _, path := range paths {
			info, err := os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				continue // a missing file cannot be read anyway
			}
			if err != nil {
				return err
			}
			rights := file
			if info.IsDir() {
				rights = dir
			}
			list = append(list, landlock.PathAccess(rights&cfg.HandledAccessFS, path))
		}
		return nil
	}
	if err := add(p.Read, readFile, readDir); err != nil {
		return err
	}
	if err := add(p.Write, writeFile, writeDir); err != nil {
		return err
	}
	if Omitted["files"] {
		list = append(list, landlock.PathAccess(cfg.HandledAccessFS, "/"))
	}
	if Omitted["landlock"] {
		return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	return cfg.Restrict(list...)
}

// restrictMore removes from the configuration what the profile allows. Outgoing
// connections stay restricted: the helper makes them.
func restrictMore(p Profile, cfg *landlock.Config) {
	if p.Listen {
		cfg.HandledAccessNet &^= ll.AccessNetBindTCP
	}
	if Omitted["ports"] {
		cfg.HandledAccessNet = 0
	}
	if p.Unix || Omitted["abstract"] {
		cfg.Scoped &^= ll.ScopeAbstractUnixSocket
	}
	if Omitted["signals"] {
		cfg.Scoped &^= ll.ScopeSignal
	}
}
