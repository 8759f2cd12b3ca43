// Package watch reloads the config file when it changes.
package watch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// debounce is how long a file must stay unchanged before it is read.
const debounce = 200 * time.Millisecond

// Watcher reloads a file when it changes.
type Watcher struct {
	load    config.LoadOptions
	deliver func(*config.Config, error)
	notify  *fsnotify.Watcher
	dirs    map[string]bool
	last    [sha256.Size]byte
	lastErr string
	stop    chan struct{}
	once    sync.Once
	done    sync.WaitGroup
}

// File calls deliver with every new version of the file of cfg, or with the
// error why the new version cannot be used; then the last good version stays in
// use. One goroutine makes all calls of deliver, one at a time. File follows
// the rename of an editor, a link with a new target, and a file that is removed
// and created again. An empty or unfinished file is never delivered as a
// Config.
func File(cfg *config.Config, o config.LoadOptions, deliver func(*config.Config, error)) (*Watcher, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, i18n.Errorf("watching %s: %w", "监视 %s 失败：%w", cfg.Path, err)
	}
	w := &Watcher{load: o.Again(cfg), deliver: deliver, notify: n, dirs: map[string]bool{}, stop: make(chan struct{})}
	w.follow()
	if len(w.dirs) == 0 {
		n.Close()
		return nil, i18n.Errorf("watching %s: its directory cannot be watched", "监视 %s 失败：无法监视其所在目录", cfg.Path)
	}
	w.last, _ = w.fingerprint()
	w.done.Go(w.run)
	return w, nil
}

// Close stops watching. No call of deliver is running when it returns.
func (w *Watcher) Close() error {
	w.once.Do(func() { close(w.stop) })
	w.done.Wait()
	return w.notify.Close()
}

// follow watches the directories of the file and of every link on the way to
// it. A watch on the file itself would be lost at the first rename.
func (w *Watcher) follow() {
	paths := append([]string{w.load.Path}, approval.Of(w.load.Path, w.load.Home, w.load.Project).Files()...)
	for path, hops := w.load.Path, 0; hops < 20; hops++ {
		next, err := readLink(path)
		if err != nil {
			break
		}
		paths = append(paths, next)
		path = next
	}
	paths = append(paths, disk.RealPath(w.load.Path))
	// A directory on the way may itself be a link that gets a new target.
	if dir, err := readLink(filepath.Dir(w.load.Path)); err == nil {
		paths = append(paths, filepath.Dir(w.load.Path), dir)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		switch {
		case w.dirs[dir]:
		case w.notify.Add(dir) == nil:
			w.dirs[dir] = true
		default:
			w.notify.Add(filepath.Dir(dir)) // the directory was removed; its parent reports when it is back
		}
	}
}

func readLink(path string) (string, error) {
	next, err := os.Readlink(path)
	return disk.From(filepath.Dir(path), next), err
}

func (w *Watcher) run() {
	timer := time.NewTimer(debounce)
	timer.Stop()
	for {
		select {
		case <-w.stop:
			timer.Stop()
			return
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			if e.Has(fsnotify.Chmod) && e.Op == fsnotify.Chmod {
				continue
			}
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				delete(w.dirs, e.Name)
			}
			timer.Reset(debounce)
		case _, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			timer.Reset(debounce) // events were lost, so check the file
		case <-timer.C:
			w.follow()
			w.look()
		}
	}
}

// look delivers the file if it differs from the last version delivered.
func (w *Watcher) look() {
	sum, err := w.fingerprint()
	if err == nil && sum == w.last && w.lastErr == "" {
		return
	}
	cfg, err := config.Load(w.load)
	if err != nil {
		w.last = [sha256.Size]byte{}
		if err.Error() != w.lastErr {
			w.lastErr = err.Error()
			w.deliver(nil, err)
		}
		return
	}
	if after, err := w.fingerprint(); err != nil || after != sum {
		return // it changed during the load, and an event for that will follow
	}
	w.last, w.lastErr = sum, ""
	w.deliver(cfg, nil)
}

// fingerprint covers the files that Load reads: the config file and the
// approval record beside it.
func (w *Watcher) fingerprint() ([sha256.Size]byte, error) {
	return fingerprint(w.load)
}

// Fingerprint changes if the file of a configuration or its approval record
// changes.
func Fingerprint(cfg *config.Config) ([sha256.Size]byte, error) {
	return fingerprint(config.LoadOptions{}.Again(cfg))
}

func fingerprint(o config.LoadOptions) ([sha256.Size]byte, error) {
	data, _, err := disk.Read(o.Path, document.MaxBytes)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	parts := [][]byte{data}
	for _, record := range approval.Of(o.Path, o.Home, o.Project).Files() {
		marks, _, err := disk.Read(record, document.MaxBytes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return [sha256.Size]byte{}, err
		}
		parts = append(parts, marks)
	}
	return sha256.Sum256(bytes.Join(parts, []byte{0})), nil
}
