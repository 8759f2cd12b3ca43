package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
)

// ErrChangedAgain is what Approve says about what is no longer what was shown.
var ErrChangedAgain = errors.New("it has changed again since it was shown")

// Pins remember the definitions of tools and prompts and the instructions of
// servers, a file a server.
type Pins struct{ dir string }

// OpenPins returns the pins in a directory, which need not be there.
func OpenPins(dir string) *Pins { return &Pins{dir: dir} }

// A pinFile is what is remembered of one server.
type pinFile struct {
	Server       string  `json:"server"`
	Tools        pinBook `json:"tools"`
	Prompts      pinBook `json:"prompts,omitempty"`
	Instructions pinBook `json:"instructions,omitempty"`
}

// of is the book of one kind.
func (f *pinFile) of(kind string) pinBook {
	book := map[string]*pinBook{pinTool: &f.Tools, pinPrompt: &f.Prompts, pinInstructions: &f.Instructions}[kind]
	if *book == nil {
		*book = make(pinBook)
	}
	return *book
}

// A pinBook is what is remembered of one kind, by name.
type pinBook map[string]*pin

// A pin is one definition: that which counts, none when nobody has approved
// any, and another one that nobody has approved.
type pin struct {
	Definition json.RawMessage `json:"definition,omitempty"`
	Pending    json.RawMessage `json:"pending,omitempty"`
}

// maxPins bounds what is remembered of one kind.
const maxPins = 20_000

// learn remembers items that are new and definitions that differ. What is new
// and doubtful counts only once it is approved. It says whether there was
// anything to learn.
func (b pinBook) learn(items []catalog.Item, doubtful map[string][]catalog.Suspicion) bool {
	news := false
	for i := range items {
		item := &items[i]
		known := b[item.Key]
		switch {
		case known == nil && len(b) >= maxPins:
		case known == nil && doubtful[item.Key] != nil:
			b[strings.Clone(item.Key)] = &pin{Pending: bytes.Clone(item.Raw)}
			news = true
		case known == nil:
			b[strings.Clone(item.Key)] = &pin{Definition: bytes.Clone(item.Raw)}
			news = true
		case known.Definition == nil && doubtful[item.Key] == nil:
			*known = pin{Definition: bytes.Clone(item.Raw)}
			news = true
		case known.Definition != nil && sameDefinition(known.Definition, item.Raw):
			news = news || known.Pending != nil
			known.Pending = nil
		case known.Pending == nil || !sameDefinition(known.Pending, item.Raw):
			known.Pending = bytes.Clone(item.Raw)
			news = true
		}
	}
	return news
}

// changes are the items of a list that differ from what counts.
func (b pinBook) changes(kind string, items []catalog.Item, withheld bool) []DefinitionChange {
	var list []DefinitionChange
	for i := range items {
		if known := b[items[i].Key]; known != nil && known.Pending != nil {
			c := known.change(kind, items[i].Key)
			c.Withheld = withheld
			list = append(list, c)
		}
	}
	return list
}

// change is how what is pending differs from what counts.
func (p *pin) change(kind, name string) DefinitionChange {
	return DefinitionChange{
		Kind: kind, Name: strings.Clone(name), Fingerprint: catalog.Fingerprint(p.Pending),
		Changes: catalog.Changes(p.Definition, p.Pending), Suspicious: catalog.Suspicions(p.Pending),
	}
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

// load reads what is remembered; a file that cannot be read is an empty one.
func (p *Pins) load(id string) *pinFile {
	content := &pinFile{Server: id}
	raw, err := os.ReadFile(p.file(id))
	if err != nil || json.Unmarshal(raw, content) != nil || content.Server != id {
		return &pinFile{Server: id}
	}
	for _, book := range []pinBook{content.Tools, content.Prompts, content.Instructions} {
		maps.DeleteFunc(book, func(_ string, known *pin) bool {
			return known == nil || known.Definition == nil && known.Pending == nil
		})
	}
	return content
}

// update changes what is remembered, alone among all processes.
func (p *Pins) update(id string, change func(*pinFile)) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	unlock, err := config.Lock(p.file(id))
	if err != nil {
		return err
	}
	defer unlock()
	content := p.load(id)
	change(content)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // definitions stay as they came
	if err := enc.Encode(content); err != nil {
		return fmt.Errorf("encoding the definitions of %q: %w", id, err)
	}
	tmp := p.file(id) + ".tmp"
	if err := os.WriteFile(tmp, out.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, p.file(id))
}

// Changed is what a server, named schema/name, shows that nobody has approved
// since it changed.
func (p *Pins) Changed(id string) []DefinitionChange {
	content := p.load(id)
	var list []DefinitionChange
	for _, kind := range []string{pinTool, pinPrompt, pinInstructions} {
		book := content.of(kind)
		for _, name := range slices.Sorted(maps.Keys(book)) {
			if book[name].Pending != nil {
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
			if known == nil || known.Pending == nil || catalog.Fingerprint(known.Pending) != c.Fingerprint {
				stale = true
				continue
			}
			known.Definition, known.Pending = known.Pending, nil
		}
	})
	if err == nil && stale {
		return ErrChangedAgain
	}
	return err
}
