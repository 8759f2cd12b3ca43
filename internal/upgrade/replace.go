package upgrade

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// ErrNothingToUndo means that there is no older copy.
var ErrNothingToUndo = i18n.Errorf("there is no older copy to go back to", "没有可以恢复的旧版本")

// Old returns the path of the replaced copy of a program.
func Old(program string) string { return program + ".old" }

// Replace replaces a program by the one in the release, and keeps the old program
// at Old. Nothing is changed before the new program was verified and has started.
func (r *Release) Replace(ctx context.Context, program string) error {
	data, err := r.download(ctx)
	if err != nil {
		return err
	}
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	// Others must not change what was verified.
	fresh, err := writeBeside(program, data, info.Mode().Perm()&^0o022)
	if err != nil {
		return i18n.Errorf("writing beside %s: %w; an owner of that folder can", "无法写入 %s 所在目录：%w；请由该目录的所有者执行", program, err)
	}
	defer os.Remove(fresh) // fails after success: the file was renamed
	if err := starts(ctx, fresh, r.Version); err != nil {
		return err
	}
	return swap(fresh, program, Old(program))
}

// writeBeside writes a file into the folder of a program and syncs it to disk.
// The name ends like the program's, because Windows recognizes programs by
// extension.
func writeBeside(program string, data []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(program), ".new-*-"+filepath.Base(program))
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// starts runs a program once, so that a program for another platform, or with
// another version than its archive says, never replaces a working one.
func starts(ctx context.Context, program, version string) error {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return i18n.Errorf("the new program does not start, so the old one stays: %w", "新程序无法启动，保留旧程序：%w", err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if strings.TrimSpace(first) != version {
		return i18n.Errorf("the new program says that it is version %s, not %s, so the old one stays", "新程序自称版本 %s，而不是 %s，保留旧程序", strings.TrimSpace(first), version)
	}
	return nil
}

// Undo restores the older copy and keeps the replaced one in its place, so that
// a second Undo reverts the first.
func Undo(program string) error {
	old := Old(program)
	if err := trusted(old, program); err != nil {
		return err
	}
	aside := old + ".back"
	if err := os.Rename(old, aside); err != nil {
		return err
	}
	if err := swap(aside, program, old); err != nil {
		return errors.Join(err, os.Rename(aside, old))
	}
	return nil
}

// trusted refuses an older copy that other users may have put or changed there,
// unless they may change the program itself.
func trusted(old, program string) error {
	info, err := os.Lstat(old)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNothingToUndo
	}
	if err != nil {
		return err
	}
	now, err := os.Stat(program)
	if err != nil {
		return err
	}
	why := disk.WritableByOthers(old, info)
	switch {
	case !info.Mode().IsRegular():
		why = i18n.New("it is not a file", "不是普通文件")
	case why.Empty() || !disk.WritableByOthers(program, now).Empty():
		return nil
	}
	return i18n.Errorf("%s does not become the program, because others may have changed it: %v", "不会用 %s 替换程序，因为其他用户可能更改过它：%v", old, why)
}
