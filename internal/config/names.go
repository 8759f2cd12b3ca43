package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"mcp-all-in-one/internal/disk"
)

// names are the files whose servers have been marked, under every name that
// they are known by: a file may get a second name (a hard link) after its
// servers were marked, and lose the first one when somebody writes it anew.
// The list is in the user's directory; without one there is none.
type names struct{ path string }

// aName says that the file of that id was at that path.
type aName struct {
	ID   string `json:"id"`
	Path string `json:"path"`
}

// maxNames bounds the list: the oldest go.
const maxNames = 500

func namesOf(home string) names {
	if home == "" {
		return names{}
	}
	return names{filepath.Join(UserDir(home), "files.json")}
}

func (n names) read() []aName {
	var list []aName
	if n.path == "" {
		return nil
	}
	if data, _, err := disk.Read(n.path, maxFile); err == nil {
		_ = json.Unmarshal(data, &list) // a list that is not ours says nothing
	}
	return list
}

// others are the other paths at which the file at real is, or was.
func (n names) others(real string) []string {
	var paths []string
	id := disk.FileID(real)
	for _, known := range n.read() {
		if known.Path != real && (known.ID == id && id != "" || disk.SameFile(known.Path, real)) {
			paths = appendNew(paths, known.Path)
		}
	}
	return paths
}

// add remembers what is at real now.
func (n names) add(real string) error {
	id := disk.FileID(real)
	if n.path == "" || id == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(n.path), 0o700); err != nil {
		return err
	}
	unlock, err := disk.Lock(n.path)
	if err != nil {
		return err
	}
	defer unlock()
	list := n.read()
	if slices.Contains(list, aName{id, real}) {
		return nil
	}
	list = append(list, aName{id, real})
	data, err := json.MarshalIndent(list[max(0, len(list)-maxNames):], "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(disk.OS{}, n.path, append(data, '\n'), 0o600)
}
