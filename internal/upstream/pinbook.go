package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// ErrChangedAgain is what Approve says about what is no longer what was shown.
var ErrChangedAgain = i18n.Errorf("it has changed again since it was shown", "显示之后又发生了变化")

// Pins remember the definitions of tools and prompts and the instructions of
// servers, a file a server.
type Pins struct{ dir string }

// OpenPins returns the pins in a directory, which need not be there.
func OpenPins(dir string) *Pins { return &Pins{dir: dir} }

func (p *Pins) file(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:16])+".json")
}

// A pinStamp tells two states of a file apart.
type pinStamp struct{ time, size int64 }

func (p *Pins) stamp(id string) pinStamp {
	info, err := os.Stat(p.file(id))
	if err != nil {
		return pinStamp{}
	}
	return pinStamp{info.ModTime().UnixNano(), info.Size()}
}

// load reads what is remembered; a file that cannot be read is an empty one.
func (p *Pins) load(id string) *pinFile {
	raw, err := os.ReadFile(p.file(id))
	if err != nil {
		return newPinFile(id)
	}
	return readPinFile(id, raw)
}

// update changes what is remembered, alone among all processes.
func (p *Pins) update(id string, change func(*pinFile)) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	unlock, err := disk.Lock(p.file(id))
	if err != nil {
		return err
	}
	defer unlock()
	content := p.load(id)
	change(content)
	tmp := p.file(id) + ".tmp"
	if err := os.WriteFile(tmp, content.appendTo(nil), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, p.file(id))
}

// Changed is what a server, named schema/name, shows that nobody has approved
// since it changed.
func (p *Pins) Changed(id string) []DefinitionChange {
	content := p.load(id)
	var list []DefinitionChange
	for _, kind := range pinKinds {
		book := content.of(kind)
		for _, name := range slices.Sorted(maps.Keys(book)) {
			if book[name].pending != nil {
				list = append(list, book[name].change(kind, name))
			}
		}
	}
	return list
}

// Approve accepts changed definitions, each as it was shown.
func (p *Pins) Approve(id string, shown []DefinitionChange) error {
	stale := false
	err := p.update(id, func(f *pinFile) {
		for _, c := range shown {
			known := f.of(c.Kind)[c.Name]
			if known == nil || known.pending == nil || definition.Fingerprint(known.pending) != c.Fingerprint {
				stale = true
				continue
			}
			known.definition, known.pending = known.pending, nil
		}
	})
	if err == nil && stale {
		return ErrChangedAgain
	}
	return err
}
