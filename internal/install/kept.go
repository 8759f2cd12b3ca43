package install

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// A keeper stores fetched records, one file each, for use while their registry
// cannot be reached.
type keeper struct{ dir string }

func (k keeper) folder(registry string) string {
	sum := sha256.Sum256([]byte(registry))
	return filepath.Join(k.dir, hex.EncodeToString(sum[:8]))
}

func (k keeper) file(registry, name, version string) string {
	return filepath.Join(k.folder(registry), url.PathEscape(name)+"@"+url.PathEscape(version)+".json")
}

// put stores a record. It ignores errors: the stored record is only needed
// while the registry cannot be reached.
func (k keeper) put(registry string, rec *Record, data []byte) {
	if k.dir == "" || os.MkdirAll(k.folder(registry), 0o700) != nil {
		return
	}
	_ = os.WriteFile(k.file(registry, rec.Server.Name, rec.Server.Version), data, 0o600)
}

// get returns a stored record, or nil if there is none that can be read.
func (k keeper) get(registry, name, version string) *Record {
	data, err := os.ReadFile(k.file(registry, name, version))
	if err != nil {
		return nil
	}
	rec, err := parseRecord(data, name)
	if err != nil || rec.Server.Version != version {
		return nil
	}
	rec.Kept = true
	return rec
}

// list returns the stored records of a registry as NAME@VERSION.
func (k keeper) list(registry string) []string {
	entries, err := os.ReadDir(k.folder(registry))
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".json")
		if name, err := url.PathUnescape(base); ok && err == nil {
			list = append(list, name)
		}
	}
	return list
}
