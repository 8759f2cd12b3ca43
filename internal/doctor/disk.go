package doctor

import (
	"os"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
)

// LookForSpace reports whether files can be written to the state folder. A
// gateway that cannot write there, for example because the disk is full, goes on
// and only logs it.
func LookForSpace(a *env.Env) finding {
	dir := folders.StateDir()
	f := finding{OK: true, What: a.T("state folder", "状态文件夹"), Detail: dir}
	if err := tryToWrite(dir); err != nil {
		f.OK, f.Detail = false, dir+a.T(": ", "：")+a.Lang.Of(problem.WithoutPath(err))
		f.Fix = a.T("free space on that disk and make the folder writable for the user that runs the gateway; without it approvals, usage and sign-ins are lost at a restart",
			"请清理该磁盘的空间，并使运行网关的用户可写此文件夹；否则重启后会丢失批准、用量与登录等记录")
	}
	return f
}

// tryToWrite writes a block to a new file, because a full disk still has room
// for an empty one.
func tryToWrite(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(make([]byte, 4096))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
