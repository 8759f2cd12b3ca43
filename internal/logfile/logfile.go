// Package logfile appends lines to a file and rotates it when it is full. Old
// files are kept beside it as name.1, name.2 and so on; name.1 is the newest.
//
// gopkg.in/natefinch/lumberjack.v2 does not fit: it counts in mebibytes, leaves
// half a line when the disk is full, and starts a goroutine that never ends.
package logfile

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// A File is a log file. Its methods may be called at the same time.
type File struct {
	path  string
	limit int64
	keep  int

	mu     sync.Mutex
	file   *os.File
	size   int64
	closed bool
}

// New returns the log file at path, of at most limit bytes. keep counts the
// files that are kept, the current one included. The first write opens it,
// and after an error the next one opens it again.
func New(path string, limit int64, keep int) *File {
	return &File{path: path, limit: limit, keep: keep}
}

// Open opens the file, to know early whether it can be written.
func (f *File) Open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.openLocked(0)
}

// Write appends one line. After an error no part of the line is in the file.
func (f *File) Write(line []byte) (int, error) {
	if _, err := f.WriteLines([][]byte{line}); err != nil {
		return 0, err
	}
	return len(line), nil
}

// WriteLines appends as many of the lines as fit into the file, in one write, and
// returns their number. A line that is longer than a file gets its own file.
func (f *File) WriteLines(lines [][]byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(lines) == 0 {
		return 0, nil
	}
	if err := f.openLocked(int64(len(lines[0]))); err != nil {
		return 0, err
	}
	batch, n := lines[0], 1
	if len(lines) > 1 {
		batch = append([]byte(nil), batch...)
	}
	for ; n < len(lines) && f.size+int64(len(batch)+len(lines[n])) <= f.limit; n++ {
		batch = append(batch, lines[n]...)
	}
	written, err := f.file.Write(batch)
	if err == nil {
		f.size += int64(written)
		return n, nil
	}
	// Half a line would spoil the next one.
	_ = f.file.Truncate(f.size)
	f.closeLocked()
	return 0, err
}

// openLocked opens the file, or a new one when next bytes do not fit.
func (f *File) openLocked(next int64) error {
	if f.closed {
		return os.ErrClosed
	}
	if err := f.reopenLocked(); err != nil || f.size == 0 || f.size+next <= f.limit {
		return err
	}
	f.closeLocked()
	f.rotate()
	return f.reopenLocked()
}

func (f *File) reopenLocked() error {
	if f.file != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	f.file, f.size = file, info.Size()
	return nil
}

func (f *File) rotate() {
	if f.keep <= 1 {
		os.Remove(f.path)
		return
	}
	name := func(i int) string { return fmt.Sprintf("%s.%d", f.path, i) }
	for i := f.keep - 2; i > 0; i-- {
		os.Rename(name(i), name(i+1))
	}
	os.Rename(f.path, name(1))
}

func (f *File) closeLocked() (err error) {
	if f.file != nil {
		err = f.file.Close()
		f.file = nil
	}
	return err
}

// Close closes the file; later writes fail.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.closeLocked()
}
