package disk

import (
	"io/fs"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"

	"mcp-all-in-one/internal/i18n"
)

// WritableByOthers says which users, other than the current user and the
// administrators, may write or replace a file; empty if none.
func WritableByOthers(path string, _ fs.FileInfo) i18n.Text {
	real := RealPath(path)
	for _, name := range []string{real, filepath.Dir(real)} {
		sd, err := windows.GetNamedSecurityInfo(name, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
		if err != nil {
			return i18n.New("its owner cannot be read: %v", "无法读取其所有者：%v", err)
		}
		owner, _, err := sd.Owner()
		if err != nil || !isTrusted(owner) {
			return i18n.New("%s belongs to another user", "%s 属于其他用户", name)
		}
		if name != real {
			continue // a user who may add files to the folder owns only those files
		}
		if acl, _, err := sd.DACL(); err != nil || acl == nil || othersWrite(acl) {
			return i18n.New("its access list lets others write", "其访问控制列表允许其他用户写入")
		}
	}
	return i18n.Text{}
}

// isTrusted reports whether an account is the current user, the system or its
// administrators.
func isTrusted(sid *windows.SID) bool {
	if sid == nil {
		return false
	}
	known := []windows.WELL_KNOWN_SID_TYPE{windows.WinLocalSystemSid, windows.WinBuiltinAdministratorsSid, windows.WinCreatorOwnerSid, windows.WinCreatorOwnerRightsSid}
	if slices.ContainsFunc(known, sid.IsWellKnown) {
		return true
	}
	if sid.String() == "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464" {
		return true // the system's own installer (TrustedInstaller)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	return err == nil && sid.Equals(user.User.Sid)
}

// writing are the rights to change a file, or to grant such rights.
const writing = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER |
	windows.GENERIC_WRITE | windows.GENERIC_ALL

func othersWrite(acl *windows.ACL) bool {
	for i := range uint32(acl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, i, &ace); err != nil {
			return true
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || ace.Mask&writing == 0 {
			continue
		}
		if !isTrusted((*windows.SID)(unsafe.Pointer(&ace.SidStart))) {
			return true
		}
	}
	return false
}

// IsWorldWritable always reports false: on Windows, WritableByOthers checks the
// access list.
func IsWorldWritable(fs.FileInfo) bool { return false }

// Exposed always reports false: on Windows, modes do not tell who may read a file.
func Exposed(fs.FileMode) bool { return false }
