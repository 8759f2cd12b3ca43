package usage

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
)

const (
	// maxFile bounds what is read of a day: more than all its rows can be.
	maxFile = 8 << 20
	// aside is where a file goes that cannot be read. There is one, so that it
	// needs no bound.
	aside = "unreadable"
	ext   = ".tsv"
)

// A line is one row of a file.
type line struct {
	Key
	Sum
}

// Dir is the folder of this user's gateways.
func Dir() string { return filepath.Join(folders.StateDir(), "usage") }

// write adds figures to the file of a day, alone among all gateways that have
// the folder.
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

// setAside moves a file away that cannot be read, so that counting goes on; false
// where it cannot be moved.
func (b *Book) setAside(path string, why error) bool {
	to := filepath.Join(b.opt.Dir, aside)
	if err := os.Rename(path, to); err != nil {
		return false
	}
	b.opt.Log.Warn("usage figures of a day cannot be read: the file was set aside, and counting begins anew", "file", path, "kept", to, "err", why)
	return true
}

// sorted are the rows of a day, always in one order.
func sorted(d *day) []line {
	list := make([]line, 0, len(d.rows))
	for k, s := range d.rows {
		list = append(list, line{k, *s})
	}
	text := func(k *Key) string {
		return strings.Join([]string{k.Principal, k.Client, string(k.Door), k.Schema, k.Server, k.Kind, k.Name}, "\x00")
	}
	slices.SortFunc(list, func(a, b line) int { return cmp.Compare(text(&a.Key), text(&b.Key)) })
	return list
}

// read reads the file of a day; one that is not there has no rows.
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
				b.opt.Log.Warn("usage figures of a day that is over cannot be removed", "day", name, "err", err)
			}
		}
	}
	b.pruned = today
}

// shift is the day that is some days later.
func shift(name string, days int) string {
	at, err := time.Parse(time.DateOnly, name)
	if err != nil {
		return name
	}
	return at.AddDate(0, 0, days).Format(time.DateOnly)
}

// names are the days that a folder has, the oldest first.
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
