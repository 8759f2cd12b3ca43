package disk

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// KeptBackups is how many backups of a file stay.
const KeptBackups = 5

// ofClient is the end of a backup's name whose content a client has written.
const ofClient = ".client"

// Backup copies the current content beside the file and returns the copy's
// name; theirs says that a client wrote it. Older copies than the last five go,
// except the last one of a person: no number of writes of a client may do away
// with it.
func Backup(d Disk, path string, data []byte, mode fs.FileMode, now time.Time, theirs bool) (string, error) {
	name := backupName(path, now)
	if all := Backups(path); len(all) > 0 && name <= all[0] {
		// Two writes in one millisecond, or a clock that went back: the
		// newest copy must still be the one that sorts last.
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

// backupName puts the time behind the file's name, as ISO 8601 with - for
// what file systems dislike.
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
