package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/say"
)

// ErrChanged is what Approve says when the entry is no longer the one that
// the person has seen.
var ErrChanged = say.Errorf("the entry has changed since it was shown", "条目在显示之后又被修改")

// Approvals records which servers of one file a person has still to approve.
//
// For the user's own file it is a list of marks beside the file: what a
// client wrote through us is marked, and editing the entry by hand takes the
// mark's force because its hash no longer fits. For a file of the working
// tree it is a list of what was approved, kept in the user's directory, and
// everything else is pending.
type Approvals struct {
	path    string
	record  string
	project bool
}

// ApprovalsOf returns the record of the file at path.
func ApprovalsOf(path, home string, project bool) *Approvals {
	a := &Approvals{path: path, record: path + ".pending.json", project: project}
	if project {
		a.record = filepath.Join(UserDir(home), "approvals.json")
	}
	return a
}

// record is the content of the file: server id and hash, by config file. The
// record beside a config file has one key, the name of that file.
type approvalRecord map[string]map[string]string

func (a *Approvals) key() string {
	if a.project {
		return a.path
	}
	return filepath.Base(a.path)
}

// IsPending reports whether s waits for approval.
func (a *Approvals) IsPending(s *Server) (bool, error) {
	rec, err := a.read()
	if err != nil {
		return true, err
	}
	return a.pending(rec, s), nil
}

func (a *Approvals) pending(rec approvalRecord, s *Server) bool {
	hash, ok := rec[a.key()][s.ID()]
	return (ok && hash == s.ApprovalHash()) != a.project
}

// MarkPending records that the server of that id and hash waits for approval.
func (a *Approvals) MarkPending(id, hash string) error {
	return a.MarkAllPending(map[string]string{id: hash})
}

// MarkAllPending is MarkPending for several servers in one write.
func (a *Approvals) MarkAllPending(hashes map[string]string) error {
	return a.change(osDisk{}, func(marks map[string]string) error {
		for id, hash := range hashes {
			if a.project {
				delete(marks, id)
			} else {
				marks[id] = hash
			}
		}
		return nil
	})
}

// Approve lets s be started. shown is the ApprovalHash of what the person
// saw; another one is ErrChanged.
func (a *Approvals) Approve(s *Server, shown string) error {
	if shown != s.ApprovalHash() {
		return ErrChanged
	}
	return a.change(osDisk{}, func(marks map[string]string) error {
		switch {
		case a.project:
			marks[s.ID()] = shown
		case marks[s.ID()] == shown:
			// Another mark means that the entry was changed while the
			// person was looking at this one.
			delete(marks, s.ID())
		}
		return nil
	})
}

func (a *Approvals) change(d disk, edit func(marks map[string]string) error) error {
	if err := os.MkdirAll(filepath.Dir(a.record), 0o700); err != nil {
		return say.Errorf("recording approvals: %w", "记录批准失败：%w", err)
	}
	unlock, err := lock(a.record)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := a.read()
	if err != nil {
		return err
	}
	marks := rec[a.key()]
	if marks == nil {
		marks = map[string]string{}
		rec[a.key()] = marks
	}
	if err := edit(marks); err != nil {
		return err
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return say.Errorf("recording approvals: %w", "记录批准失败：%w", err)
	}
	return replaceFile(d, a.record, append(data, '\n'), 0o600)
}

func (a *Approvals) read() (approvalRecord, error) {
	rec := approvalRecord{}
	data, _, err := readRegular(a.record, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &rec)
	}
	if err != nil {
		return nil, say.Errorf("reading %s: %w", "读取 %s 失败：%w", a.record, err)
	}
	return rec, nil
}

// Approvals returns the record of this file.
func (c *Config) Approvals(home string) *Approvals { return ApprovalsOf(c.Path, home, c.Project) }

// approvals marks the servers of a file that wait for a person.
func (r *reader) approvals() {
	a := ApprovalsOf(r.cfg.Path, r.o.Home, r.cfg.Project)
	rec, err := a.read()
	if err != nil {
		r.c.add(SeverityError, pos{}, "", codeMarks, err)
		return
	}
	for _, schema := range r.cfg.Schemas {
		for _, s := range schema.Servers {
			if s.Pending = a.pending(rec, s); s.Pending {
				p := r.c.add(SeverityDisabled, pos{s.Line, s.Column}, s.ID(), codePending, s.Name)
				p.Hint += ": " + r.approveCommand(s)
				p.HintZH += "：" + r.approveCommand(s)
			}
		}
	}
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
