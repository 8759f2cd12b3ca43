package edit

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// ErrServersOnly is returned for a client's write that changes more than
// servers.
var ErrServersOnly = i18n.Errorf("only servers may be changed this way; the rest of the file is changed by a person", "此方式只能修改服务器；文件的其余部分由人修改")

// ErrDeployed is returned for a change of a file that each replica of a cluster
// reads for itself: the change would be in effect at one replica alone.
var ErrDeployed = i18n.Errorf("the configuration comes from a file on each replica: change the file on all of them, or share it with \"config\": \"shared\" in the section cluster",
	"配置来自每个副本上的文件：请在所有副本上修改该文件，或在 cluster 部分设置 \"config\": \"shared\" 以共享配置")

// WriteOptions says how a file is written.
type WriteOptions struct {
	// Load has the options for checking the new content; its Path is not used.
	Load config.LoadOptions
	// Pending is set if the writer is not a person with the right to run
	// commands on this machine. Then every entry that the write adds or changes
	// waits for approval, and only servers may change.
	Pending bool
	// Agreed are the ids of the servers that a person has agreed to remove with
	// a pending write. Such a write removes no other server that a person has
	// written or approved.
	Agreed []string
	// By is the principal who writes; the approval record names it.
	By string
	// Now returns the time for the backup's name; nil is time.Now.
	Now func() time.Time

	disk disk.Disk
}

// WriteResult is the result of a write.
type WriteResult struct {
	Path    string
	Backup  string         // "" if there was no file before
	Changed bool           // false if the file already has this content; then it was not written
	Pending []string       // ids of the servers that now wait for approval
	Kept    []string       // those of Pending that keep a secret of the file, which the writer has not seen
	Config  *config.Config // the new content
}

// Update changes the file at path. edit changes a draft; then the result is
// checked as Load does, the old file is kept as a backup, and the new one
// replaces it atomically. Comments and layout are kept. A lock serializes
// writers.
func Update(path string, o WriteOptions, edit func(*Draft) error) (*WriteResult, error) {
	o.Load = o.Load.WithDefaults()
	if o.disk == nil {
		o.disk = disk.OS{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	named := path
	path = disk.RealPath(path) // if path is a link, it stays one
	unlock, err := disk.Lock(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	d, err := openDraft(path)
	if err != nil {
		return nil, err
	}
	doc, local, err := o.shared(d)
	if err != nil {
		return nil, err
	}
	var res *WriteResult
	if doc != nil {
		res, err = o.share(d, doc, local, edit)
	} else {
		res, err = o.alone(d, edit)
	}
	if res != nil {
		res.Config.Path = named
	}
	return res, err
}

// alone edits a file that is not shared with replicas.
func (o WriteOptions) alone(d *Draft, edit func(*Draft) error) (*WriteResult, error) {
	disk.RemoveStale(o.disk, d.path)
	if err := edit(d); err != nil {
		return nil, err
	}
	return o.commit(d, func(data []byte, theirs bool) (string, error) { return o.replace(d, data, theirs) })
}

// check checks that a draft may be written.
func (o WriteOptions) check(d *Draft) (cfg *config.Config, data []byte, err error) {
	o.Load.AsWritten = o.Load.AsWritten || o.Pending || len(d.proposed) > 0 // variables in a client's text are not resolved before it is approved
	o.Load.AsFiled = true
	if data, err = d.content(); err != nil {
		return nil, nil, err
	}
	if err := o.readsNoScript(d); err != nil {
		return nil, nil, err
	}
	if cfg, err = config.Check(d.path, data, o.Load); err != nil {
		return nil, nil, err
	}
	if o.Pending && !d.onlyServersChanged() {
		return nil, nil, ErrServersOnly
	}
	return cfg, data, d.keptElsewhere()
}

// readsNoScript checks that a client names no file as a script. The code of a
// script is shown for approval, so the client would see the file.
func (o WriteOptions) readsNoScript(d *Draft) error {
	before := layout.Below(d.old).ByID()
	for id, entry := range layout.Below(d.root).ByID() {
		scripts := approval.ScriptsIn(entry)
		if scripts == nil || !o.Pending && !d.proposed[id] {
			continue
		}
		if was := approval.ScriptsIn(before[id]); was != nil && was.Equal(scripts) {
			continue
		}
		for _, m := range scripts.Members {
			if m.Value.Get("file") != nil {
				return i18n.Errorf("script %q of %s names a file: put the code into \"code\", or let a person add the entry to the config file",
					"%[2]s 的脚本 %[1]q 指定了 file：请把代码写入 \"code\"，或由人把该条目加入配置文件", i18n.Seen(m.Key), i18n.Seen(id))
			}
		}
	}
	return nil
}

// commit checks a draft, records what waits for approval, and replaces the old
// content. theirs reports whether a client wrote the old content.
func (o WriteOptions) commit(d *Draft, put func(data []byte, theirs bool) (backup string, err error)) (*WriteResult, error) {
	cfg, data, err := o.check(d)
	if err != nil {
		return nil, err
	}
	res := &WriteResult{Path: d.path, Config: cfg, Changed: d.changed()}
	if !res.Changed {
		return res, nil
	}
	if o.Load.Deployed {
		return nil, ErrDeployed
	}
	record := approval.Of(d.path, o.Load.Home, false).SharedBy(o.Load.Share)
	if err := o.agreed(d, record); err != nil {
		return nil, err
	}
	waiting, owned, err := o.sort(d, res, record)
	if err != nil {
		return nil, err
	}
	theirs, err := record.Wrote(d.data)
	if err != nil {
		return nil, err
	}
	// The marks are written first. After a crash in between there are marks for
	// entries that do not exist, which have no effect.
	content := ""
	if o.Pending || len(d.proposed) > 0 {
		content = approval.ContentHash(data)
	}
	if err := record.Propose(waiting, content); err != nil {
		return nil, err
	}
	if res.Backup, err = put(data, theirs); err != nil {
		return nil, err
	}
	if len(waiting) > 0 {
		record.Listed()
	}
	return res, record.Own(owned)
}

// replace writes the file and keeps a backup of the old one.
func (o WriteOptions) replace(d *Draft, data []byte, theirs bool) (backup string, err error) {
	mode := fs.FileMode(0o600)
	if d.old != nil {
		mode = d.mode
		if backup, err = disk.Backup(o.disk, d.path, d.data, mode, o.Now(), theirs); err != nil {
			return "", err
		}
	}
	return backup, disk.Replace(o.disk, d.path, data, mode)
}

// sort divides the servers that the draft adds, changes or removes. waiting are
// those that wait for approval or whose marks must change for one; owned are
// those of the person who writes.
func (o WriteOptions) sort(d *Draft, res *WriteResult, record *approval.Record) (waiting, owned []approval.Proposal, err error) {
	if o.Load.Project && !o.Pending {
		return nil, nil, nil // in a project file, every entry waits unless it is approved
	}
	all, err := record.Read()
	if err != nil {
		return nil, nil, err
	}
	old, now := layout.Below(d.old), layout.Below(d.root)
	before, was, after := old.ByID(), old.Hashes(), now.ByID()
	propose := func(id, is string) approval.Proposal {
		p := approval.Proposal{ID: id, Was: was[id], Is: is, By: o.By}
		p.Waited = record.State(all, id, p.Was, record.Scripts(before[id]), func() string { return record.FilesOf(before[id]) }) != approval.WaitsNot
		if p.Replaces = before[id] != nil && !p.Waited; p.Replaces {
			p.Held = approval.HeldText(old, old.Entry(id))
			p.Entry, p.EntryHash = old.Approvable(old.Entry(id)).AppendJSON(nil, "", ""), p.Was
		}
		return p
	}
	for _, schema := range res.Config.Schemas {
		for _, s := range schema.Servers {
			id := s.ID()
			if v := before[id]; v != nil && v.Equal(after[id]) {
				continue
			}
			p := propose(id, s.ApprovalHash())
			if on, ok := d.switched[id]; ok && all.Was(id) != nil {
				p.Entry, p.EntryHash = switched(all.Was(id), on) // the server runs with this entry
			}
			unread := d.unread[id] || keeps(after[id])
			switch {
			case all.Restores(id, p.Is):
				waiting = append(waiting, p)
			case o.Pending || d.proposed[id]:
				res.Pending = append(res.Pending, id)
				if keeps(after[id]) {
					res.Kept = append(res.Kept, id)
				}
				s.Pending = true
				waiting = append(waiting, p)
			case p.Waited && unread:
				waiting = append(waiting, p)
			case !unread:
				owned = append(owned, p)
			}
		}
	}
	for id := range before {
		switch p := propose(id, ""); {
		case after[id] != nil:
		case o.Pending:
			waiting = append(waiting, p)
		default:
			owned = append(owned, p)
		}
	}
	all.Propose(waiting)
	tell(res, now, all)
	return waiting, owned, nil
}

// switched returns an entry that is switched on or off, and its hash.
func switched(entry json.RawMessage, on bool) (json.RawMessage, string) {
	n := document.Parse(entry, document.FormatJSON, &problem.List{})
	if n == nil {
		return nil, ""
	}
	members := slices.DeleteFunc(slices.Clone(n.Members), func(m document.Member) bool { return m.Key == "enabled" || m.Key == "disabled" })
	n = n.With(members)
	n.Add("enabled", &document.Node{Kind: document.KindBool, Text: strconv.FormatBool(on)})
	return n.AppendJSON(nil, "", ""), layout.Hash(n)
}

// tell sets Taken of the servers that wait for approval because of this write.
func tell(res *WriteResult, l *layout.Layout, all approval.Marks) {
	for _, schema := range res.Config.Schemas {
		for _, s := range schema.Servers {
			if s.Pending {
				s.Taken = all.TakenBy(l, l.Entry(s.ID()))
			}
		}
	}
}

// openDraft reads the file for editing. A missing file is an empty draft.
func openDraft(path string) (*Draft, error) {
	d := &Draft{path: path}
	data, info, err := disk.Read(path, document.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return nil, i18n.Errorf("writing %s: %w", "写入 %s 失败：%w", path, err)
		}
		d.format = document.FormatOf(path, nil)
		return d, nil
	}
	if err != nil {
		return nil, i18n.Errorf("reading %s: %w", "读取 %s 失败：%w", path, err)
	}
	d.file, d.mode = data, info.Mode().Perm()
	if err := d.read(data); err != nil {
		return nil, err
	}
	return d, nil
}

// read starts a draft from a text.
func (d *Draft) read(data []byte) error {
	c := &problem.List{File: d.path}
	text, ok := document.Decode(data, c)
	if !ok {
		return c.Err()
	}
	d.data, d.format = data, document.FormatOf(d.path, text)
	if d.old = document.Parse(text, d.format, c); d.old == nil {
		return c.Err()
	}
	d.root = d.old
	return nil
}
