package disk

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// Names is a list of files under every path at which they have been seen. A file
// may get a second name (a hard link) later, and lose the first one when that path
// is replaced by a new file. The zero Names is empty.
type Names struct{ path string }

// A seenPath records that the file ID was seen at Path.
type seenPath struct {
	ID   string `json:"id"`
	Path string `json:"path"`
}

// maxNames bounds the list: the oldest entries are dropped.
const (
	maxNames     = 500
	maxNamesFile = 16 << 20
)

// NamesAt returns the Names stored in the file at path.
func NamesAt(path string) Names { return Names{path} }

func (n Names) read() []seenPath {
	var list []seenPath
	if n.path == "" {
		return nil
	}
	if data, _, err := Read(n.path, maxNamesFile); err == nil {
		_ = json.Unmarshal(data, &list) // an invalid list counts as empty
	}
	return list
}

// Others returns the other paths where the file at real is or was.
func (n Names) Others(real string) []string {
	var paths []string
	id := FileID(real)
	for _, known := range n.read() {
		if known.Path != real && !slices.Contains(paths, known.Path) && (known.ID == id && id != "" || SameFile(known.Path, real)) {
			paths = append(paths, known.Path)
		}
	}
	return paths
}

// Add records the file that is at real now.
func (n Names) Add(real string) error {
	id := FileID(real)
	if n.path == "" || id == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(n.path), 0o700); err != nil {
		return err
	}
	unlock, err := Lock(n.path)
	if err != nil {
		return err
	}
	defer unlock()
	list := n.read()
	if slices.Contains(list, seenPath{id, real}) {
		return nil
	}
	list = append(list, seenPath{id, real})
	data, err := json.MarshalIndent(list[max(0, len(list)-maxNames):], "", "  ")
	if err != nil {
		return err
	}
	return Replace(OS{}, n.path, append(data, '\n'), 0o600)
}
