package record

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/disk"
)

// maxFile is the maximum size of a document.
const maxFile = 64 << 20

// A File is a document in a file, which need not exist.
type File struct {
	Path string
	// Durable makes a change survive a crash of the machine. It is not set for
	// data that can be learnt again: waiting for the disk would slow down a
	// start with many servers.
	Durable bool
}

// Read returns the content.
func (f File) Read() ([]byte, error) {
	data, _, err := disk.Read(f.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Change edits the file atomically: a reader always finds the old content or
// the new one.
func (f File) Change(edit func([]byte) ([]byte, error)) error {
	return f.locked(func() error {
		old, err := f.Read()
		if err != nil {
			return err
		}
		data, err := edit(old)
		if err != nil || bytes.Equal(old, data) && old != nil {
			return err
		}
		return f.replace(data)
	})
}

// Later is the same as Change.
func (f File) Later(_ string, edit func([]byte) ([]byte, error)) error { return f.Change(edit) }

// Write replaces the content.
func (f File) Write(data []byte) error {
	return f.locked(func() error { return f.replace(data) })
}

func (f File) locked(do func() error) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	unlock, err := disk.Lock(f.Path)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

func (f File) replace(data []byte) error {
	switch {
	case data == nil:
		err := os.Remove(f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	case f.Durable:
		return disk.Replace(disk.OS{}, f.Path, data, 0o600)
	}
	tmp := f.Path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, f.Path)
}

// Keep saves a copy of the file before other content replaces it, and returns
// the path of the copy.
func (f File) Keep() (string, error) {
	data, err := f.Read()
	if err != nil || data == nil || !f.Durable {
		return "", err
	}
	name := f.Path + ".before-cluster"
	return name, disk.Replace(disk.OS{}, name, data, 0o600)
}
