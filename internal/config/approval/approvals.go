// Package approval records which servers of a file a person has approved, by
// the hash of their entries, and which restrictions clients have removed.
package approval

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/digest"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/variable"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
)

// ErrChanged is returned by Approve if the entry has changed since the person
// saw it.
var ErrChanged = i18n.Errorf("the entry has changed since it was shown", "条目在显示之后又被修改")

// Record records which servers of one file wait for approval.
//
// For the user's own file it is a list of marks beside the real file, even if
// the path is a link. An entry that a client wrote through the gateway is
// marked. A person who edits the entry makes the mark ineffective, because its
// hash no longer fits. For a file of the working tree it is a list of approved
// entries in the user's directory, and every other entry is pending.
type Record struct {
	path    string
	home    string
	key     string // key of this file in its records
	records []string
	names   disk.Names
	project bool
	share   Sharing
}

// A Sharing returns the documents that the replicas share. It is called before a
// record is written. It returns nil for a gateway without replicas.
type Sharing func() (record.Documents, error)

// Copy is the file of the first record. If replicas share the record, it is a
// local copy.
func (a *Record) Copy() record.File { return record.File{Path: a.records[0], Durable: true} }

// Files returns the paths of the records.
func (a *Record) Files() []string { return a.records }

// document is the first record, where changes are written. The record of a
// working tree is never shared, because other machines have other working
// trees.
func (a *Record) document() (record.Document, error) {
	if a.share == nil || a.project {
		return a.Copy(), nil
	}
	docs, err := a.share()
	return record.On(docs, record.Approvals, a.Copy()), err
}

// SharedBy lets replicas share the record.
func (a *Record) SharedBy(share Sharing) *Record {
	a.share = share
	return a
}

// Of returns the record of the file at path.
func Of(path, home string, project bool) *Record {
	if path == "" {
		return &Record{} // no file, nothing to record
	}
	if project {
		// The path counts too: the same text has another meaning in another
		// working tree.
		a := &Record{path: path, key: filepath.Join(disk.RealPath(filepath.Dir(path)), filepath.Base(path)), home: home, project: true}
		if home != "" {
			a.records = []string{filepath.Join(folders.UserDir(home), "approvals.json")}
		}
		return a
	}
	real, n := disk.RealPath(path), namesOf(home)
	a := &Record{path: path, home: home, key: filepath.Base(real), records: []string{RecordOf(real)}, names: n}
	for _, other := range n.Others(real) {
		a.records = append(a.records, RecordOf(other))
	}
	return a
}

// Listed adds the file to the list of files with marks. The list is only needed
// to find the marks by a second name of the file.
func (a *Record) Listed() { _ = a.names.Add(a.path) }

// namesOf is the list of the files that have marks. It is in the user's
// directory; without a home directory it is empty.
func namesOf(home string) disk.Names {
	if home == "" {
		return disk.Names{}
	}
	return disk.NamesAt(filepath.Join(folders.UserDir(home), "files.json"))
}

// A Wait is the reason why an entry is pending.
type Wait uint8

const (
	WaitsNot Wait = iota
	waitsFirst
	WaitsEarlier // an earlier version wrote its mark
	WaitsFiles   // the content of its files differs from that at the approval
	WaitsScripts // its scripts are not approved as they are now
)

// State returns whether and why an entry with that hash and those scripts is
// pending. It calls files, which hashes the files of the entry, only if the
// result depends on it.
func (a *Record) State(all Marks, id, hash string, scripts Scripts, files func() string) Wait {
	m := all[id]
	switch {
	case m.earlier != "":
		return WaitsEarlier
	case slices.Contains(m.hashes, hash) != a.project:
		return waitsFirst
	}
	if known := m.files[hash]; (known != "" || a.project) && known != files() {
		return WaitsFiles
	}
	if scripts.Hash != "" && scripts.Hash != m.scripts {
		return WaitsScripts
	}
	return WaitsNot
}

// FilesOf returns the filesHash of an entry of this file.
func (a *Record) FilesOf(n *document.Node) string {
	return filesHash(&variable.Resolver{Home: a.home, Base: filepath.Dir(a.path)}, n)
}

// Confined reports whether the person who approved a server chose to run it in
// a sandbox.
func (all Marks) Confined(id string) bool { return all[id].confined }

// A Proposal is a change of a server by a principal (By) that may not approve
// it. Was is the hash of the entry before, or "" if there was none. Is is the
// hash of the entry now, or "" if it is removed.
type Proposal struct {
	ID, Was, Is, By string
	Waited          bool            // the previous entry waited for approval
	Replaces        bool            // the previous entry was written or approved by a person
	Held            json.RawMessage // restrictions of that previous entry
	Entry           json.RawMessage // the entry in use until the approval; nil keeps the one recorded before
	EntryHash       string
}

// Propose records that servers wait for approval. content is the hash of the
// file that a client is about to write, or "" if a person writes it. Older
// marks are kept: the file may still have their entries, or have them under
// another name.
func (a *Record) Propose(list []Proposal, content string) error {
	if len(list) == 0 && content == "" {
		return nil
	}
	return a.change(func(all Marks) bool {
		all.Propose(list)
		if content != "" {
			all[wholeFile] = mark{hashes: []string{content}}
		}
		return true
	})
}

func (all Marks) Propose(list []Proposal) {
	for _, p := range list {
		m := all[p.ID]
		if all.Restores(p.ID, p.Is) {
			m.held, m.was, m.wasHash = nil, nil, ""
			all.put(p.ID, m)
			continue
		}
		if p.Replaces {
			m.held = p.Held
		}
		if p.Entry != nil {
			m.was, m.wasHash = p.Entry, p.EntryHash
		}
		if p.Was == "" || p.Is == "" { // nothing is replaced, or the entry is removed
			m.was, m.wasHash = nil, ""
		}
		if p.Is != "" {
			if m.earlier != "" {
				m = mark{}
				if p.Was != "" {
					m.hashes = []string{p.Was}
				}
			}
			if !slices.Contains(m.hashes, p.Is) {
				m.hashes = append(m.hashes, p.Is)
			}
			m.hashes = m.hashes[max(0, len(m.hashes)-maxHashes):]
			if p.By != "" {
				if m.by == nil {
					m.by = map[string]string{}
				}
				m.by[p.Is] = p.By
			}
			maps.DeleteFunc(m.by, func(hash, _ string) bool { return !slices.Contains(m.hashes, hash) })
		}
		all.put(p.ID, m)
	}
}

// Own records that a person has written servers, so that they no longer wait.
func (a *Record) Own(list []Proposal) error {
	all, err := a.Read()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(p Proposal) bool {
		m := all[p.ID]
		return m.earlier == "" && m.files[p.Is] == "" && !slices.Contains(m.hashes, p.Is) && !(m.confined && p.Was == "") && m.held == nil && m.was == nil
	})
	if len(list) == 0 {
		return nil
	}
	return a.change(func(all Marks) bool {
		for _, p := range list {
			m := all[p.ID]
			if p.Was == "" {
				m.confined = false // a new entry that a person wrote
			}
			m.held, m.was, m.wasHash = nil, nil, ""
			all.put(p.ID, m)
			if p.Is != "" { // removing an entry approves nothing
				all.drop(p.ID, p.Is, "")
			}
		}
		return true
	})
}

// Approve approves a server. It runs in a sandbox unless its entry says
// otherwise. shown is the hash of what the person saw. If the entry or its
// scripts have changed since then, Approve returns ErrChanged and approves
// nothing.
func (a *Record) Approve(id, shown string) error { return a.approve(id, shown, true) }

// ApproveUnconfined is like Approve but without a sandbox, unless the entry has
// one.
func (a *Record) ApproveUnconfined(id, shown string) error { return a.approve(id, shown, false) }

func (a *Record) approve(id, shown string, confined bool) error {
	if !a.project {
		unlock, err := disk.Lock(disk.RealPath(a.path)) // the entry must not change meanwhile
		if err != nil {
			return err
		}
		defer unlock()
	}
	now, err := layout.Read(a.path)
	if err != nil {
		return err
	}
	entry := now.ByID()[id]
	scripts, hash := a.Scripts(entry), now.Hashes()[id]
	if hash == "" || scripts.Shown(hash) != shown {
		return ErrChanged
	}
	files := a.FilesOf(entry)
	return a.change(func(all Marks) bool {
		if a.project {
			all[id] = mark{hashes: []string{hash}, files: map[string]string{hash: files}, confined: confined, scripts: scripts.Hash}
			return true
		}
		m, marked := all[id]
		if marked || scripts.Hash != "" {
			m.confined, m.scripts = confined && marked, scripts.Hash
			all[id] = m
			all.drop(id, hash, files)
		}
		return marked || scripts.Hash != ""
	})
}

// Asker returns the principal who proposed the entry with that hash, or "" if
// the record does not say. If the record cannot be read, Asker returns "" and
// Approve, which reads it again, fails.
func (a *Record) Asker(id, hash string) string {
	all, err := a.Read()
	if err != nil {
		return ""
	}
	return all[id].by[entryOf(hash)]
}

// filesHash hashes the contents of the files that the entry n reads; "" if it
// reads none. A file can contain a command as well as a password, so every file
// counts. Files that are read for headers do not count, because headers run
// nothing.
func filesHash(r *variable.Resolver, n *document.Node) string {
	own := layout.OwnServer(n, "", &problem.List{})
	h := digest.New()
	found := false
	for _, m := range own.Members {
		if m.Key == "headers" || m.Key == "scripts" {
			continue
		}
		for _, name := range variable.Names(m.Value) {
			path, ok := strings.CutPrefix(name, "file:")
			if !ok {
				continue
			}
			found = true
			if text, err := r.File(path); err == nil {
				h.Add(m.Key, path, text)
			} else {
				h.Add(m.Key, path)
			}
		}
	}
	if !found {
		return ""
	}
	return h.Sum()
}
