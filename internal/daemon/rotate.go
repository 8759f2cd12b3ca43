package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// A rotated is a log file that begins anew when it is full; a few old ones are
// kept beside it as name.1, name.2 and so on.
type rotated struct {
	path  string
	limit int64
	keep  int

	mu   sync.Mutex
	file *os.File
	size int64
}

func openRotated(path string, limit int64, keep int) (*rotated, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	r := &rotated{path: path, limit: limit, keep: keep}
	return r, r.openLocked()
}

func (r *rotated) openLocked() error {
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	r.file, r.size = f, info.Size()
	return nil
}

// Write appends one line. A disk that refuses loses lines, nothing else.
func (r *rotated) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return len(line), nil
	}
	if r.limit > 0 && r.size+int64(len(line)) > r.limit && r.size > 0 {
		r.rotateLocked()
	}
	if r.file == nil {
		return len(line), nil
	}
	n, _ := r.file.Write(line)
	r.size += int64(n)
	return len(line), nil
}

func (r *rotated) rotateLocked() {
	r.file.Close()
	r.file = nil
	for i := r.keep - 1; i > 0; i-- {
		older := fmt.Sprintf("%s.%d", r.path, i)
		if i == 1 {
			os.Rename(r.path, older)
			continue
		}
		os.Rename(fmt.Sprintf("%s.%d", r.path, i-1), older)
	}
	if r.keep <= 1 {
		os.Remove(r.path)
	}
	if err := r.openLocked(); err != nil {
		r.file = nil
	}
}

// Close ends the file.
func (r *rotated) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}
