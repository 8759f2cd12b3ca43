package config

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// ErrChanged is what Approve says when the entry is no longer the one that
// the person has seen.
var ErrChanged = i18n.Errorf("the entry has changed since it was shown", "条目在显示之后又被修改")

// Approvals records which servers of one file a person has still to approve.
//
// For the user's own file it is a list of marks beside the file, whatever
// path led to it: what a client wrote through us is marked, and editing the
// entry by hand takes the mark's force because its hash no longer fits. For a
// file of the working tree it is a list of what was approved, kept in the
// user's directory, and everything else is pending.
type Approvals struct {
	path    string
	home    string
	key     string // of this file in its records
	records []string
	names   disk.Names
	project bool
}

// ApprovalsOf returns the record of the file at path.
func ApprovalsOf(path, home string, project bool) *Approvals {
	if path == "" {
		return &Approvals{} // no file, nothing to record
	}
	if project {
		// Where it was found counts too: the same text means something else in
		// another working tree.
		a := &Approvals{path: path, key: filepath.Join(disk.RealPath(filepath.Dir(path)), filepath.Base(path)), home: home, project: true}
		if home != "" {
			a.records = []string{filepath.Join(UserDir(home), "approvals.json")}
		}
		return a
	}
	real, n := disk.RealPath(path), namesOf(home)
	a := &Approvals{path: path, home: home, key: filepath.Base(real), records: []string{recordOf(real)}, names: n}
	for _, other := range n.Others(real) {
		a.records = append(a.records, recordOf(other))
	}
	return a
}

// namesOf is the list of the files whose servers have been marked. It is in the
// user's directory; without one there is none.
func namesOf(home string) disk.Names {
	if home == "" {
		return disk.Names{}
	}
	return disk.NamesAt(filepath.Join(UserDir(home), "files.json"))
}

// A wait is why an entry is pending.
type wait uint8

const (
	waitsNot wait = iota
	waitsFirst
	waitsEarlier // an earlier version recorded it
	waitsFiles   // its files do not hold what they held at the approval
)

// state says whether an entry of that hash is pending. What its files hold is
// asked for only where that is left to decide.
func (a *Approvals) state(all marks, id, hash string, files func() string) wait {
	m := all[id]
	switch {
	case m.earlier != "":
		return waitsEarlier
	case slices.Contains(m.hashes, hash) != a.project:
		return waitsFirst
	}
	if known := m.files[hash]; (known != "" || a.project) && known != files() {
		return waitsFiles
	}
	return waitsNot
}

// filesOf is the filesHash of an entry of this file.
func (a *Approvals) filesOf(n *document.Node) string {
	return (&resolver{home: a.home, base: filepath.Dir(a.path)}).filesHash(n)
}

// A proposal is a server that somebody who may not approve has written: the
// hash of the entry before, "" when there was none, and now, "" when there is
// none; and the principal.
type proposal struct {
	id, was, is, by string
	waited          bool            // the entry before waited for approval
	replaces        bool            // it was a person's
	held            json.RawMessage // ... and this held the server back
}

// propose records that servers wait for approval, and the hash of the file that
// a client is about to write; "" for a person's. What was marked stays so:
// the file may still have the entry, or have it under another name.
func (a *Approvals) propose(list []proposal, content string) error {
	if len(list) == 0 && content == "" {
		return nil
	}
	return a.change(func(all marks) bool {
		all.propose(list)
		if content != "" {
			all[wholeFile] = mark{hashes: []string{content}}
		}
		return true
	})
}

func (all marks) propose(list []proposal) {
	for _, p := range list {
		m := all[p.id]
		if p.replaces {
			m.held = p.held
		}
		if p.is != "" {
			if m.earlier != "" {
				m = mark{}
				if p.was != "" {
					m.hashes = []string{p.was}
				}
			}
			m.hashes = appendNew(m.hashes, p.is)
			m.hashes = m.hashes[max(0, len(m.hashes)-maxHashes):]
			if p.by != "" {
				if m.by == nil {
					m.by = map[string]string{}
				}
				m.by[p.is] = p.by
			}
			maps.DeleteFunc(m.by, func(hash, _ string) bool { return !slices.Contains(m.hashes, hash) })
		}
		all.put(p.id, m)
	}
}

// own records that a person has written servers, so that they wait no longer.
func (a *Approvals) own(list []proposal) error {
	all, err := a.read()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(p proposal) bool {
		m := all[p.id]
		return m.earlier == "" && m.files[p.is] == "" && !slices.Contains(m.hashes, p.is) && !(m.confined && p.was == "") && m.held == nil
	})
	if len(list) == 0 {
		return nil
	}
	return a.change(func(all marks) bool {
		for _, p := range list {
			m := all[p.id]
			if p.was == "" {
				m.confined = false // a new entry of a person's own
			}
			m.held = nil
			all.put(p.id, m)
			if p.is != "" { // to remove it approves nothing
				all.drop(p.id, p.is, "")
			}
		}
		return true
	})
}

// Approve lets a server be started, confined unless its entry says otherwise.
// shown is the ApprovalHash of what the person saw; when the file has another
// entry by now it is ErrChanged, and nothing is approved.
func (a *Approvals) Approve(id, shown string) error { return a.approve(id, shown, true) }

// ApproveUnconfined is Approve without a sandbox, unless the entry has one.
func (a *Approvals) ApproveUnconfined(id, shown string) error { return a.approve(id, shown, false) }

func (a *Approvals) approve(id, shown string, confined bool) error {
	if !a.project {
		unlock, err := disk.Lock(disk.RealPath(a.path)) // nobody changes the entry meanwhile
		if err != nil {
			return err
		}
		defer unlock()
	}
	now, err := layoutOf(a.path)
	if err != nil {
		return err
	}
	if shown == "" || now.hashes()[id] != shown {
		return ErrChanged
	}
	files := a.filesOf(now.entry(id).value)
	return a.change(func(all marks) bool {
		if a.project {
			all[id] = mark{hashes: []string{shown}, files: map[string]string{shown: files}, confined: confined}
			return true
		}
		m, marked := all[id]
		if marked {
			m.confined = confined
			all[id] = m
			all.drop(id, shown, files)
		}
		return marked
	})
}

// Asker returns the principal who proposed the entry of that hash, "" if the
// record does not say. A record that cannot be read names nobody: Approve,
// which reads it again, fails.
func (a *Approvals) Asker(id, hash string) string {
	all, err := a.read()
	if err != nil {
		return ""
	}
	return all[id].by[hash]
}

// Approvals returns the record of this file.
func (c *Config) Approvals() *Approvals { return ApprovalsOf(c.Path, c.home, c.Project) }

// takeMarks reads which servers of the file wait for a person.
func (r *reader) takeMarks() {
	r.record = ApprovalsOf(r.cfg.Path, r.o.Home, r.cfg.Project)
	var err error
	if r.marks, err = r.record.read(); err != nil {
		r.c.Add(problem.SeverityError, problem.Pos{}, "", problem.Marks, err)
	}
}

// pending says that s waits for approval, and how it gets it.
func (r *reader) pending(s *Server, why wait) {
	p := r.c.Add(problem.SeverityDisabled, problem.Pos{Line: s.Line, Col: s.Column}, s.ID(), problem.Pending, s.Name)
	switch why {
	case waitsFiles:
		p.Hint = "a file that it reads by ${file:…} does not hold what it held when the server was approved, so look at it and approve it again"
		p.HintZH = "它通过 ${file:…} 读取的文件与批准时的内容不同，请查看后重新批准"
	case waitsEarlier:
		p.Hint = "an earlier version recorded it without its policies, so read it again and approve it"
		p.HintZH = "早期版本的记录不含其策略，请重新确认后批准"
	}
	p.Hint += ": " + r.approveCommand(s)
	p.HintZH += "：" + r.approveCommand(s)
}

// approveCommand is what a person types to approve a server of this file.
func (r *reader) approveCommand(s *Server) string {
	line := "mcp-all-in-one approve " + s.Name
	if s.Schema != DefaultSchema {
		line += " --schema " + s.Schema
	}
	if r.cfg.Project {
		line += " --project"
	}
	// Another program's file, or one that was named, must be named again.
	if r.cfg.Project || r.o.Path != "" || r.o.Personality != MCPAllInOne {
		path := r.cfg.Path
		if strings.ContainsAny(path, " \t'\"$&;()") {
			path = strconv.Quote(path)
		}
		line += " -c " + path
	}
	return line
}
