package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
)

// A connection records how a client's file was changed, so that it can be
// undone.
type connection struct {
	File   string `json:"file"`
	Backup string `json:"backup,omitempty"` // empty if there was no file before
	Hash   string `json:"hash"`             // of the written content; empty if the backup is not the original
	// Moved are the servers that were removed from the file.
	Moved map[string]json.RawMessage `json:"moved,omitempty"`
	// Added are the moved servers that our file did not have before.
	Added []addition `json:"added,omitempty"`
}

// follow takes over the undo data of an earlier connection of the same file.
// The original is the content before the first connection. If the file was
// edited by hand in between, no backup is the original, and only our own
// changes are undone.
func (c *connection) follow(earlier connection, before []byte) {
	if earlier.File != c.File {
		return
	}
	if earlier.Hash == HashOf(before) {
		c.Backup = earlier.Backup
	} else {
		c.Hash = ""
	}
	for name, entry := range earlier.Moved {
		if c.Moved[name] == nil {
			c.Moved[name] = entry
		}
	}
	for _, was := range earlier.Added {
		again := func(is addition) bool {
			return is.Config == was.Config && is.Schema == was.Schema && is.Name == was.Name
		}
		if !slices.ContainsFunc(c.Added, again) {
			c.Added = append(c.Added, was)
		}
	}
}

func connectionsFile() string { return filepath.Join(folders.StateDir(), "connections.json") }

// Connections returns the connections made on this machine, by client.
func Connections() (map[string]connection, error) {
	all := map[string]connection{}
	data, err := os.ReadFile(connectionsFile())
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	return all, err
}

// remember records a connection; nil removes it.
func remember(id string, c *connection) error {
	all, err := Connections()
	if err != nil {
		return err
	}
	if c == nil {
		delete(all, id)
	} else {
		all[id] = *c
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return disk.Write(connectionsFile(), data, 0o600)
}

func HashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
