package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/secrets"
)

// RecordOf returns the path of the marks beside a config file.
func RecordOf(real string) string { return real + ".pending.json" }

// Marks are the marks of a record by server id.
type Marks map[string]mark

// A mark has the hashes of one server. For some hashes it has the principal who
// proposed the entry, or the filesHash of an approved entry. A mark of an
// earlier version is a single hash that did not cover the whole entry, so the
// server is always pending.
type mark struct {
	hashes []string
	by     map[string]string // principal by hash
	files  map[string]string // filesHash at the approval, by hash
	// confined means that the person who approved the server chose a sandbox.
	// It counts if the entry does not mention a sandbox, and stays when the
	// entry is edited.
	confined bool
	// scripts is the hash of the scripts that a person has approved. It does
	// not depend on the rest of the entry.
	scripts string
	// held are the restrictions that a person had set before a client replaced
	// or removed the server.
	held json.RawMessage
	// was is the whole entry that a client has replaced, and wasHash its hash.
	// The server runs with it until a person approves another entry.
	was     json.RawMessage
	wasHash string
	earlier string
}

// markJSON is the JSON form of a mark that has more than hashes.
type markJSON struct {
	Hashes   []string          `json:"hashes"`
	By       map[string]string `json:"by,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
	Confined bool              `json:"confined,omitempty"`
	Scripts  string            `json:"scripts,omitempty"`
	Held     json.RawMessage   `json:"held,omitempty"`
	Was      json.RawMessage   `json:"was,omitempty"`
	WasHash  string            `json:"wasHash,omitempty"`
}

// wholeFile is used instead of a server id for the mark of the file that a
// client wrote last.
const wholeFile = ""

// Wrote reports whether a client has written a file with this content.
func (a *Record) Wrote(data []byte) (bool, error) {
	all, err := a.Read()
	return slices.Contains(all[wholeFile].hashes, ContentHash(data)), err
}

func ContentHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// maxHashes is how many versions of an entry stay marked; the oldest are
// dropped.
const maxHashes = 50

func (m *mark) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &m.earlier) == nil {
		return nil
	}
	if json.Unmarshal(data, &m.hashes) == nil {
		return nil
	}
	var v markJSON
	err := json.Unmarshal(data, &v)
	m.hashes, m.by, m.files, m.confined, m.scripts, m.held, m.was, m.wasHash = v.Hashes, v.By, v.Files, v.Confined, v.Scripts, v.Held, v.Was, v.WasHash
	return err
}

func (m mark) MarshalJSON() ([]byte, error) {
	if m.earlier != "" {
		return json.Marshal(m.earlier)
	}
	if len(m.by) > 0 || len(m.files) > 0 || m.confined || m.scripts != "" || m.held != nil || m.was != nil {
		return json.Marshal(markJSON{m.hashes, m.by, m.files, m.confined, m.scripts, m.held, m.was, m.wasHash})
	}
	return json.Marshal(m.hashes)
}

// Was returns the entry that a server had before a client replaced it. The
// server runs with it until a person approves the new one. It is nil if no
// client has replaced the entry.
func (all Marks) Was(id string) json.RawMessage { return all[id].was }

// Restores reports whether hash is the hash of the entry that a client has
// replaced.
func (all Marks) Restores(id, hash string) bool { return hash != "" && all[id].wasHash == hash }

// drop removes one hash of a server, because a person has seen the entry. files
// is the filesHash at the approval. It is "" if the entry reads no files, or if
// a person wrote the entry.
func (all Marks) drop(id, hash, files string) {
	m := all[id]
	m.hashes = slices.DeleteFunc(m.hashes, func(h string) bool { return h == hash })
	delete(m.by, hash)
	m.files = nil
	if files != "" {
		m.files = map[string]string{hash: files}
	}
	m.earlier, m.held, m.was, m.wasHash = "", nil, nil, ""
	all.put(id, m)
}

// put stores a mark, or deletes it if it is empty.
func (all Marks) put(id string, m mark) {
	if len(m.hashes) == 0 && len(m.files) == 0 && !m.confined && m.scripts == "" && m.held == nil && m.earlier == "" {
		delete(all, id)
		return
	}
	all[id] = m
}

// change edits the marks of this file in every record that has some.
func (a *Record) change(edit func(Marks) (changed bool)) error {
	if len(a.records) == 0 {
		return i18n.Errorf("recording approvals: %w", "记录批准失败：%w", secrets.ErrNoHome)
	}
	doc, err := a.document()
	for i, path := range a.records {
		if i > 0 {
			doc = record.File{Path: path, Durable: true}
			if _, err := os.Stat(path); err != nil {
				continue
			}
		}
		if err == nil {
			err = a.changeIn(path, doc, edit)
		}
		if err != nil {
			return i18n.Errorf("recording approvals: %w", "记录批准失败：%w", err)
		}
	}
	return nil
}

func (a *Record) changeIn(path string, doc record.Document, edit func(Marks) bool) error {
	if _, err := a.readRecord(path); err != nil { // fails if others can write the record, for instance
		return err
	}
	return doc.Change(func(old []byte) ([]byte, error) {
		files := map[string]Marks{}
		if err := json.Unmarshal(old, &files); err != nil && old != nil {
			return nil, err
		}
		all := a.marksIn(files)
		if !edit(all) {
			return old, nil
		}
		if !a.project {
			clear(files)
		}
		files[a.key] = all
		data, err := json.MarshalIndent(files, "", "  ")
		return append(data, '\n'), err
	})
}

// marksIn returns the marks of this file in a record. A record beside a config
// file is only about that file, whatever name it uses for the file.
func (a *Record) marksIn(files map[string]Marks) Marks {
	if a.project {
		if files[a.key] == nil {
			return Marks{}
		}
		return files[a.key]
	}
	all := Marks{}
	for _, some := range files {
		all.add(some)
	}
	return all
}

// add merges the marks of another record.
func (all Marks) add(more Marks) {
	for id, m := range more {
		m.hashes = slices.Concat(all[id].hashes, slices.DeleteFunc(slices.Clone(m.hashes), func(h string) bool {
			return slices.Contains(all[id].hashes, h)
		}))
		m.by = joined(all[id].by, m.by)
		m.files = joined(all[id].files, m.files)
		m.confined = m.confined || all[id].confined
		m.scripts = cmp.Or(m.scripts, all[id].scripts)
		if m.held == nil {
			m.held = all[id].held
		}
		if m.was == nil {
			m.was, m.wasHash = all[id].was, all[id].wasHash
		}
		m.earlier = cmp.Or(m.earlier, all[id].earlier)
		all[id] = m
	}
}

func joined(a, b map[string]string) map[string]string {
	c := make(map[string]string, len(a)+len(b))
	maps.Copy(c, a)
	maps.Copy(c, b)
	return c
}

// Read returns the marks of this file.
func (a *Record) Read() (Marks, error) {
	all := Marks{}
	for _, record := range a.records {
		files, err := a.readRecord(record)
		if err != nil {
			return nil, err
		}
		all.add(a.marksIn(files))
	}
	return all, nil
}

// readRecord reads a record. A record of approvals must be writable only by the
// user. Marks beside a file that others can write are no greater risk than that
// file.
func (a *Record) readRecord(path string) (map[string]Marks, error) {
	files := map[string]Marks{}
	data, info, err := disk.Read(path, document.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &files)
	}
	if err == nil && a.project {
		if fault := disk.WritableByOthers(path, info); !fault.Empty() {
			err = i18n.Errorf("others may write it: %s", "其他用户可写：%s", fault)
		}
	}
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	return files, nil
}
