package pin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/record"
)

// ErrChangedAgain is the error of Approve if a definition has changed since it
// was shown.
var ErrChangedAgain = i18n.Errorf("it has changed again since it was shown", "显示之后又发生了变化")

// A Store remembers the definitions of tools and prompts and the instructions of
// servers, in one file per server.
type Store struct {
	dir  string
	docs record.Documents // nil if not shared with other replicas
}

// Open returns the store in a directory, which need not exist. With docs, the
// directory has copies of what the replicas share.
func Open(dir string, docs record.Documents) *Store { return &Store{dir, docs} }

// ofUser returns the id for the definitions that a server shows to a user. If
// user is empty, it is the id of the server.
func ofUser(id, user string) string {
	if user == "" {
		return id
	}
	return id + "\x00" + user
}

// pinName returns the name of a file. The names for the users of a server begin
// with the name for the server.
func pinName(id string) string {
	var parts []string
	for part := range strings.SplitSeq(id, "\x00") {
		sum := sha256.Sum256([]byte(part))
		parts = append(parts, hex.EncodeToString(sum[:16]))
	}
	return strings.Join(parts, "-")
}

func (p *Store) file(id string) string { return filepath.Join(p.dir, pinName(id)+".json") }

// document returns the document with the pins of a server.
func (p *Store) document(id string) record.Document {
	return record.On(p.docs, record.Pins+pinName(id), record.File{Path: p.file(id)})
}

// A pinStamp identifies a state of a file.
type pinStamp struct{ time, size int64 }

func (p *Store) stamp(id string) pinStamp {
	info, err := os.Stat(p.file(id))
	if err != nil {
		return pinStamp{}
	}
	return pinStamp{info.ModTime().UnixNano(), info.Size()}
}

// load reads the pins. An unreadable file counts as empty.
func (p *Store) load(id string) *pinFile {
	raw, err := os.ReadFile(p.file(id))
	if err != nil {
		return newPinFile(id)
	}
	return readPinFile(id, raw)
}

// edited returns a function that applies a change to the encoded file of a
// server.
func edited(id string, change func(*pinFile)) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		f := readPinFile(id, old)
		change(f)
		return f.appendTo(nil), nil
	}
}

// learn remembers the items of one kind, exclusively among all processes. kept
// holds the pins that could not be written before; nil if there are none.
func (p *Store) learn(id, kind string, items []catalog.Item, doubtful map[string][]definition.Suspicion, kept *pinFile) error {
	if p.docs != nil { // the edit may run later, when the list is not valid any more
		items = cloneItems(items)
		if kept != nil {
			kept = kept.clone()
		}
	}
	return p.document(id).Later(kind, edited(id, func(f *pinFile) {
		switch {
		case kept != nil && p.docs == nil:
			*f = *kept // the file has not changed since that write failed
		case kept != nil:
			f.join(kept)
			fallthrough
		default:
			f.of(kind).learn(items, doubtful, p.docs != nil)
		}
	}))
}

func cloneItems(items []catalog.Item) []catalog.Item {
	own := make([]catalog.Item, len(items))
	for i := range items {
		own[i] = catalog.Item{Key: strings.Clone(items[i].Key), Raw: bytes.Clone(items[i].Raw)}
	}
	return own
}

// Changed returns the pending definitions of a server, named schema/name, for all
// users.
func (p *Store) Changed(id string) []Change {
	list := p.changed(id, "")
	files, _ := os.ReadDir(p.dir) // the directory may not exist
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), pinName(id)+"-") {
			continue
		}
		raw, _ := os.ReadFile(filepath.Join(p.dir, f.Name())) // errors are handled as in load
		server, _ := jsonrpc.GetString(raw, "server")
		if user, ok := strings.CutPrefix(server, id+"\x00"); ok {
			list = append(list, p.changed(id, user)...)
		}
	}
	return list
}

func (p *Store) changed(id, user string) []Change {
	content := p.load(ofUser(id, user))
	var list []Change
	for _, kind := range pinKinds {
		book := content.of(kind)
		for _, name := range slices.Sorted(maps.Keys(book)) {
			if book[name].pending != nil {
				c := book[name].change(kind, name)
				c.User = user
				list = append(list, c)
			}
		}
	}
	return list
}

// Approve approves changed definitions, each exactly as it was shown and for the
// user to whom it was shown.
func (p *Store) Approve(id string, shown []Change) (err error) {
	by := make(map[string][]Change)
	for _, c := range shown {
		by[c.User] = append(by[c.User], c)
	}
	for _, user := range slices.Sorted(maps.Keys(by)) {
		err = cmp.Or(err, p.approve(ofUser(id, user), by[user]))
	}
	return err
}

func (p *Store) approve(id string, shown []Change) error {
	stale := false
	err := p.document(id).Change(edited(id, func(f *pinFile) {
		stale = false
		for _, c := range shown {
			known := f.of(c.Kind)[c.Name]
			if known == nil || known.pending == nil || definition.Fingerprint(known.pending) != c.Fingerprint {
				stale = true
				continue
			}
			known.definition, known.pending = known.pending, nil
		}
	}))
	if err == nil && stale {
		return ErrChangedAgain
	}
	return err
}
