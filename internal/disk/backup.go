package disk

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// KeptBackups is how many backups of a file are kept.
const KeptBackups = 5

// ofClient is the suffix of a backup whose content a client has written.
const ofClient = ".client"

// Backup copies the current content to a file next to path and returns its name.
// theirs says that a client wrote the content. Backups older than the last five are
// removed, except the newest one of content that a person wrote: a client must not
// be able to remove it by writing often.
func Backup(d Disk, path string, data []byte, mode fs.FileMode, now time.Time, theirs bool) (string, error) {
	name := backupName(path, now)
	if all := Backups(path); len(all) > 0 && name <= all[0] {
		// Two writes in one millisecond, or a clock that was set back: the newest
		// copy must still sort last.
		if last, ok := backupTime(path, all[0]); ok {
			name = backupName(path, last.Add(time.Millisecond))
		}
	}
	if theirs {
		name += ofClient
	}
	if err := Replace(d, name, data, mode); err != nil {
		return "", i18n.Errorf("the file was not changed because its backup failed: %w", "备份失败，因此没有修改文件：%w", err)
	}
	names := Backups(path)
	last := slices.IndexFunc(names, func(name string) bool { return !strings.HasSuffix(name, ofClient) })
	for i, old := range names {
		if i >= KeptBackups && i != last {
			d.Remove(old)
		}
	}
	return name, nil
}

// backupName appends the time to the file's name, as ISO 8601 with - for characters
// that file systems do not allow.
func backupName(path string, now time.Time) string {
	iso := now.UTC().Format("2006-01-02T15:04:05.000Z")
	return path + ".backup." + strings.NewReplacer(":", "-", ".", "-").Replace(iso)
}

// backupTime is the inverse of backupName.
func backupTime(path, name string) (time.Time, bool) {
	stamp := strings.TrimSuffix(strings.TrimPrefix(name, path+".backup."), ofClient)
	if len(stamp) != len("2006-01-02T15-04-05-000Z") {
		return time.Time{}, false
	}
	t, err := time.Parse("2006-01-02T15-04-05.000Z", stamp[:19]+"."+stamp[20:])
	return t, err == nil
}

// Backups returns the backups of a file, newest first.
func Backups(path string) []string {
	names, err := filepath.Glob(GlobQuote(path) + ".backup.*")
	if err != nil {
		return nil
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names
}
