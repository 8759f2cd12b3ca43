// Package lock owns mcp.lock, which says exactly what the servers of a config
// file run.
//
// npm and uv resolve the packages. This package stores the result, lets them
// install only from that, and compares the started programs with it.
package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
)

// The levels of an entry: how much of a server it covers.
const (
	LevelTree   = "tree"   // the package and all its dependencies
	LevelImage  = "image"  // the image, by its digest
	LevelBundle = "bundle" // the bundle, and the files that were unpacked from it
	LevelFile   = "file"   // the program itself
	LevelTools  = "tools"  // its definitions
)

// An Entry is the lock of one server.
type Entry struct {
	Level        string            `json:"level"`
	NPM          string            `json:"npm,omitempty"`
	PyPI         string            `json:"pypi,omitempty"`
	Image        string            `json:"image,omitempty"`
	Bundle       string            `json:"bundle,omitempty"`  // SHA-256 of the file
	Program      string            `json:"program,omitempty"` // hash of the program of a plain command
	URL          string            `json:"url,omitempty"`
	Integrity    string            `json:"integrity,omitempty"`
	Tree         string            `json:"tree,omitempty"`
	Packages     int               `json:"packages,omitempty"`
	Scripts      []string          `json:"scripts,omitempty"`
	Build        []string          `json:"build,omitempty"` // packages that are built on this machine
	Runtime      string            `json:"runtime,omitempty"`
	Entry        string            `json:"entry"`
	Tools        map[string]string `json:"tools,omitempty"`
	Prompts      map[string]string `json:"prompts,omitempty"`
	Instructions string            `json:"instructions,omitempty"`
}

// A File is mcp.lock, together with the lock files of npm and uv beside it.
type File struct {
	path    string
	Servers map[string]*Entry
}

// Open reads the lock beside a config file. A missing lock is empty.
func Open(configPath string) (*File, error) {
	return open(filepath.Join(filepath.Dir(configPath), "mcp.lock"))
}

func open(path string) (*File, error) {
	f := &File{path: path, Servers: map[string]*Entry{}}
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, problem.OfFile(f.path, problem.LockFile, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields() // this version cannot enforce what a newer version has locked
	if err := dec.Decode(&f.Servers); err != nil {
		return nil, problem.OfFile(f.path, problem.LockFile, err)
	}
	return f, nil
}

// Path returns the path of the lock.
func (f *File) Path() string { return f.path }

// Key returns the name of a server in the lock.
func Key(s *config.Server) string {
	if s.Schema == config.DefaultSchema {
		return s.Name
	}
	return s.ID()
}

// Dir returns the folder with the npm or uv lock files of a server.
func (f *File) Dir(key string) string {
	name := url.PathEscape(key)
	if strings.Trim(name, ".") == "" { // would be another folder, or none
		name = "%" + name
	}
	return filepath.Join(f.path+".d", name)
}

// Put writes the entry of a server. It reads the lock again first, to keep what
// others have locked in the meantime.
func (f *File) Put(key string, e *Entry) error {
	now, err := open(f.path)
	if err != nil {
		return err
	}
	now.Servers[key] = e
	f.Servers = now.Servers
	return f.Write()
}

// Write writes the lock sorted and indented, so that people can read it.
func (f *File) Write() error {
	data, err := json.MarshalIndent(f.Servers, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(disk.OS{}, f.path, append(data, '\n'), 0o644)
}

// EntryHash returns the hash of an entry of the config file.
func EntryHash(s *config.Server) string { return hashOf(s.ApprovalHash()) }

func hashOf(approval string) string { return "sha256-" + approval }
