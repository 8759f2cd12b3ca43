// Package approval records which servers of a file a person has approved, as the
// hash of their entries, and what clients have taken away from them.
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

// ErrChanged is what Approve says when the entry is no longer the one that
// the person has seen.
var ErrChanged = i18n.Errorf("the entry has changed since it was shown", "条目在显示之后又被修改")

// Record records which servers of one file a person has still to approve.
//
// For the user's own file it is a list of marks beside the file, whatever
// path led to it: what a client wrote through us is marked, and editing the
// Entry by hand takes the mark's force because its hash no longer fits. For a
// file of the working tree it is a list of what was approved, kept in the
// user's directory, and everything else is pending.
type Record struct {
	path    string
	home    string
	key     string // of this file in its records
	records []string
	names   disk.Names
	project bool
	share   Sharing
}

// A Sharing is asked for what replicas share when something is to be written
// there. It returns nil for one that is alone.
type Sharing func() (record.Shelf, error)

// Copy is the file of the first record: of what replicas share it is a copy.
func (a *Record) Copy() record.File { return record.File{Path: a.records[0], Durable: true} }

// Files are the files of the records.
func (a *Record) Files() []string { return a.records }

// document is the first record, where it is written. Files of working trees are
// not those of other machines.
func (a *Record) document() (record.Document, error) {
	if a.share == nil || a.project {
		return a.Copy(), nil
	}
	shelf, err := a.share()
	return record.On(shelf, record.Approvals, a.Copy()), err
}

// SharedBy makes replicas share the record.
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
		// Where it was found counts too: the same text means something else in
		// another working tree.
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

// Listed notes that the file has marks, which only helps to find them by a
// second name of the file.
func (a *Record) Listed() { _ = a.names.Add(a.path) }

// namesOf is the list of the files whose servers have been marked. It is in the
// user's directory; without one there is none.
func namesOf(home string) disk.Names {
	if home == "" {
		return disk.Names{}
	}
	return disk.NamesAt(filepath.Join(folders.UserDir(home), "files.json"))
}

// A wait is why an entry is pending.
type Wait uint8

const (
	WaitsNot Wait = iota
	waitsFirst
	WaitsEarlier // an earlier version recorded it
	WaitsFiles   // its files do not hold what they held at the approval
	WaitsScripts // nobody has approved its scripts as they are
)

// State says whether an entry of that hash, with those scripts, is pending. What
// its files hold is asked for only where that is left to decide.
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

// FilesOf is the filesHash of an entry of this file.
func (a *Record) FilesOf(n *document.Node) string {
	return filesHash(&variable.Resolver{Home: a.home, Base: filepath.Dir(a.path)}, n)
}

// Confined says whether the person who approved a server wants it in a sandbox.
func (all Marks) Confined(id string) bool { return all[id].confined }

// A proposal is a server that somebody who may not approve has written: the
// hash of the entry before, "" when there was none, and now, "" when there is
// none; and the principal.
type Proposal struct {
	ID, Was, Is, By string
	Waited          bool            // the entry before waited for approval
	Replaces        bool            // it was a person's
	Held            json.RawMessage // ... and this held the server back
	Entry           json.RawMessage // what counts until it is approved; nil for what counted before
	EntryHash       string
}

// Propose records that servers wait for approval, and the hash of the file that
// a client is about to write; "" for a person's. What was marked stays so:
// the file may still have the entry, or have it under another name.
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
		if p.Was == "" || p.Is == "" { // it takes the place of nothing, or nothing takes its place
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

// own records that a person has written servers, so that they wait no longer.
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
				m.confined = false // a new entry of a person's own
			}
			m.held, m.was, m.wasHash = nil, nil, ""
			all.put(p.ID, m)
			if p.Is != "" { // to remove it approves nothing
				all.drop(p.ID, p.Is, "")
			}
		}
		return true
	})
}

// Approve lets a server be started, confined unless its entry says otherwise.
// shown is the hash of what the person saw; when the file has another entry by
// now, or the entry other scripts, it is ErrChanged, and nothing is approved.
func (a *Record) Approve(id, shown string) error { return a.approve(id, shown, true) }

// ApproveUnconfined is Approve without a sandbox, unless the entry has one.
func (a *Record) ApproveUnconfined(id, shown string) error { return a.approve(id, shown, false) }

func (a *Record) approve(id, shown string, confined bool) error {
	if !a.project {
		unlock, err := disk.Lock(disk.RealPath(a.path)) // nobody changes the entry meanwhile
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

// Asker returns the principal who proposed the entry of that hash, "" if the
// record does not say. A record that cannot be read names nobody: Approve,
// which reads it again, fails.
func (a *Record) Asker(id, hash string) string {
	all, err := a.Read()
	if err != nil {
		return ""
	}
	return all[id].by[entryOf(hash)]
}

// filesHash is a hash of what the files hold that the entry n reads; "" when
// there are none. A file can hold a command as well as a password, so every file counts
// except those that headers read, which run nothing.
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
