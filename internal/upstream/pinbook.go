package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
)

// ErrChangedAgain is what Approve says about a tool that is no longer the one
// that was shown.
var ErrChangedAgain = errors.New("the tool has changed again since it was shown")

// Pins remember the definitions of tools, a file a server.
type Pins struct{ dir string }

// OpenPins returns the pins in a directory, which need not be there.
func OpenPins(dir string) *Pins { return &Pins{dir: dir} }

// A pinBook is what is remembered of one server, by tool.
type pinBook map[string]*pin

// A pin is one tool: the definition that counts, and another one that nobody
// has approved.
type pin struct {
	Definition json.RawMessage `json:"definition"`
	Pending    json.RawMessage `json:"pending,omitempty"`
}

// maxPins bounds what is remembered of one server.
const maxPins = 20_000

// learn remembers tools that are new and definitions that differ. It says
// whether there was anything to learn.
func (b pinBook) learn(items []catalog.Item) bool {
	news := false
	for i := range items {
		item := &items[i]
		known := b[item.Key]
		switch {
		case known == nil && len(b) < maxPins:
			b[strings.Clone(item.Key)] = &pin{Definition: bytes.Clone(item.Raw)}
			news = true
		case known == nil:
		case sameDefinition(known.Definition, item.Raw):
			news = news || known.Pending != nil
			known.Pending = nil
		case known.Pending == nil || !sameDefinition(known.Pending, item.Raw):
			known.Pending = bytes.Clone(item.Raw)
			news = true
		}
	}
	return news
}

// changes are the tools of a list that differ from what counts.
func (b pinBook) changes(items []catalog.Item, withheld bool) []ToolChange {
	var list []ToolChange
	for i := range items {
		if known := b[items[i].Key]; known != nil && known.Pending != nil {
			list = append(list, ToolChange{
				Tool: strings.Clone(items[i].Key), Withheld: withheld, Fingerprint: catalog.Fingerprint(known.Pending),
				Changes: catalog.Changes(known.Definition, known.Pending),
			})
		}
	}
	return list
}

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

// load reads what is remembered; a file that cannot be read is an empty book.
func (p *Pins) load(id string) pinBook {
	var content pinFile
	raw, err := os.ReadFile(p.file(id))
	if err != nil || json.Unmarshal(raw, &content) != nil || content.Server != id || content.Tools == nil {
		return make(pinBook)
	}
	for name, known := range content.Tools {
		if known == nil || len(known.Definition) == 0 {
			delete(content.Tools, name)
		}
	}
	return content.Tools
}

type pinFile struct {
	Server string  `json:"server"`
	Tools  pinBook `json:"tools"`
}

// update changes what is remembered, alone among all processes.
func (p *Pins) update(id string, change func(pinBook) pinBook) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	unlock, err := config.Lock(p.file(id))
	if err != nil {
		return err
	}
	defer unlock()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // definitions stay as they came
	if err := enc.Encode(pinFile{id, change(p.load(id))}); err != nil {
		return fmt.Errorf("encoding the tools of %q: %w", id, err)
	}
	tmp := p.file(id) + ".tmp"
	if err := os.WriteFile(tmp, out.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, p.file(id))
}

// Changed are the tools of a server, named schema/name, that nobody has
// approved since they changed.
func (p *Pins) Changed(id string) []ToolChange {
	var list []ToolChange
	for name, known := range p.load(id) {
		if known.Pending != nil {
			list = append(list, ToolChange{Tool: name, Fingerprint: catalog.Fingerprint(known.Pending), Changes: catalog.Changes(known.Definition, known.Pending)})
		}
	}
	slices.SortFunc(list, func(a, b ToolChange) int { return strings.Compare(a.Tool, b.Tool) })
	return list
}

// Approve accepts changed definitions: of each tool the one whose fingerprint
// was shown.
func (p *Pins) Approve(id string, shown map[string]string) error {
	stale := false
	err := p.update(id, func(b pinBook) pinBook {
		for tool, fingerprint := range shown {
			known := b[tool]
			if known == nil || known.Pending == nil || catalog.Fingerprint(known.Pending) != fingerprint {
				stale = true
				continue
			}
			known.Definition, known.Pending = known.Pending, nil
		}
		return b
	})
	if err == nil && stale {
		return ErrChangedAgain
	}
	return err
}
