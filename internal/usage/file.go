package usage

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
)

const (
	// maxFile limits the size of a file. It is more than all rows of a day can
	// need.
	maxFile = 8 << 20
	// aside is the name for a file that cannot be read. There is only one, so
	// that it needs no limit.
	aside = "unreadable"
	ext   = ".tsv"
)

// A line is one row of a file.
type line struct {
	Key
	Sum
}

// Dir returns the folder of this user's gateways.
func Dir() string { return filepath.Join(folders.StateDir(), "usage") }

// write adds counts to the file of a day, exclusively among all gateways that
// share the folder.
func (b *Book) write(name string, counted *day) error {
	if err := os.MkdirAll(b.opt.Dir, 0o700); err != nil {
		return err
	}
	unlock, err := disk.Lock(filepath.Join(b.opt.Dir, "days"))
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(b.opt.Dir, name+ext)
	before, err := read(path)
	if err != nil {
		if !b.setAside(path, err) {
			return err
		}
		before = nil
	}
	all := newDay()
	for i := range before {
		all.at(before[i].Key).add(&before[i].Sum)
	}
	all.merge(maps.All(counted.rows))
	disk.RemoveStale(disk.OS{}, path)
	return disk.Replace(disk.OS{}, path, format(sorted(all)), 0o600)
}

// setAside renames an unreadable file, so that counting can continue; false if
// the rename fails.
func (b *Book) setAside(path string, why error) bool {
	to := filepath.Join(b.opt.Dir, aside)
	if err := os.Rename(path, to); err != nil {
		return false
	}
	b.opt.Log.Warn("cannot read the usage figures of a day: the file was set aside, and counting starts from zero", "file", path, "kept", to, "err", why)
	return true
}

// sorted returns the rows of a day in a fixed order.
func sorted(d *day) []line {
	list := make([]line, 0, len(d.rows))
	for k, s := range d.rows {
		list = append(list, line{k, *s})
	}
	text := func(k *Key) string {
		return strings.Join([]string{k.Principal, k.Client, string(k.Door), k.Schema, k.Server, k.Kind, k.Name}, "\x00")
	}
	sort.Slice(list, func(i, j int) bool { return text(&list[i].Key) < text(&list[j].Key) })
	return list
}

// read reads the file of a day. A missing file has no rows.
func read(path string) ([]line, error) {
	text, _, err := disk.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(string(text))
}

// prune removes the files of days that are no longer kept.
func (b *Book) prune(today string, keep int) {
	oldest := shift(today, 1-keep)
	for _, name := range names(b.opt.Dir) {
		if name < oldest {
			if err := os.Remove(filepath.Join(b.opt.Dir, name+ext)); err != nil {
				b.opt.Log.Warn("cannot remove the usage figures of a past day", "day", name, "err", err)
			}
		}
	}
	b.pruned = today
}

// shift returns the date that is the given number of days later.
func shift(name string, days int) string {
	at, err := time.Parse(time.DateOnly, name)
	if err != nil {
		return name
	}
	return at.AddDate(0, 0, days).Format(time.DateOnly)
}

// names returns the days that have a file, oldest first.
func names(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ext)
		if _, err := time.Parse(time.DateOnly, name); ok && err == nil {
			list = append(list, name)
		}
	}
	return list
}
