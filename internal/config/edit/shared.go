package edit

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
)

// ownSections are the sections that each replica has for itself when the rest
// of the file is shared.
var ownSections = []string{"server", "cluster", "logging"}

// A Copy is a config file whose text replicas share, including its comments.
// The sections in ownSections are not part of the shared text. A shared text
// that is invalid on this replica is not written: the file stays as it was.
type Copy struct {
	path string
	load config.LoadOptions

	mu       sync.Mutex
	known    []byte // the shared text that was last read or written
	backup   string // path of the backup of the file before the last write
	rejected error
}

// CopyOf returns the file at path as a copy of the shared text.
func CopyOf(path string, load config.LoadOptions) *Copy {
	load.Path = path
	return &Copy{path: disk.RealPath(path), load: load.WithDefaults()}
}

// Read returns the shared text of the file; nil if the file has nothing to
// share.
func (c *Copy) Read() ([]byte, error) {
	data, _, err := disk.Read(c.path, document.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sharedPart(c.path, data)
}

// sharedPart returns the text of a file that replicas share.
func sharedPart(path string, data []byte) ([]byte, error) {
	format := document.FormatOf(path, data)
	text, err := document.Without(data, format, ownSections)
	if err != nil || text == nil {
		return nil, err
	}
	root := document.Parse(bytes.TrimPrefix(text, document.BOM), format, &problem.List{})
	if root != nil && len(layout.Below(root).Entries) == 0 && !slices.ContainsFunc(root.Members, func(m document.Member) bool { return !slices.Contains(layout.HolderKeys(), m.Key) }) {
		return nil, nil // the file has no servers yet and waits for the text of the other replicas
	}
	return text, nil
}

// Known returns the text that this process has last read or written.
func (c *Copy) Known() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// Know sets Known to the current text of the file.
func (c *Copy) Know() error {
	text, err := c.Read()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = text
	return err
}

// Rejected returns why the shared text cannot be used on this replica, or nil.
func (c *Copy) Rejected() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rejected
}

// Backup returns the path of the backup from the last write.
func (c *Copy) Backup() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backup
}

// Write writes the shared text to the file if it is valid on this replica.
func (c *Copy) Write(text []byte) error {
	if text == nil {
		return nil // a gateway needs a file to continue with
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := disk.Lock(c.path + ".shared") // Update holds the lock of the file itself until the replicas have agreed on the text
	if err != nil {
		return err
	}
	defer unlock()
	disk.RemoveStale(disk.OS{}, c.path)
	before, info, err := disk.Read(c.path, document.MaxBytes)
	if err != nil {
		return err
	}
	data, err := c.joined(text, before)
	if err != nil {
		c.rejected = err
		return nil
	}
	c.rejected = nil
	if bytes.Equal(before, data) {
		c.known = text
		return nil
	}
	record := approval.Of(c.path, c.load.Home, false)
	theirs, err := record.Wrote(before)
	if err != nil {
		return err
	}
	if c.backup, err = disk.Backup(disk.OS{}, c.path, before, info.Mode().Perm(), time.Now(), theirs); err != nil {
		return err
	}
	if err := disk.Replace(disk.OS{}, c.path, data, info.Mode().Perm()); err != nil {
		return err
	}
	c.known = text
	return nil
}

// joined combines a shared text with the own sections of the file, and checks
// the result.
func (c *Copy) joined(text, file []byte) ([]byte, error) {
	data, err := document.Graft(text, file, document.FormatOf(c.path, file), ownSections)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Check(c.path, data, c.load)
	if err != nil {
		return nil, err
	}
	if p := cfg.CheckListen(cfg.Server.Host); p != nil {
		return nil, &problem.LoadError{Problems: []problem.Problem{*p}}
	}
	return data, nil
}

// Change changes only the file.
func (c *Copy) Change(edit func([]byte) ([]byte, error)) error {
	old, err := c.Read()
	if err != nil {
		return err
	}
	text, err := edit(old)
	if err != nil {
		return err
	}
	return c.Write(text)
}

// Later is the same as Change.
func (c *Copy) Later(_ string, edit func([]byte) ([]byte, error)) error { return c.Change(edit) }

// tries is how often an edit is repeated because another replica wrote.
const tries = 3

// shared returns the document that replicas share for the file of d, and the
// local copy of it. Both are nil if the file is not shared.
func (o WriteOptions) shared(d *Draft) (record.Document, *Copy, error) {
	if o.Load.Share == nil || o.Load.Project || d.old == nil || !d.old.Has("cluster") {
		return nil, nil, nil
	}
	docs, err := o.Load.Share()
	if err != nil || docs == nil {
		return nil, nil, err
	}
	local := CopyOf(d.path, o.Load)
	doc := docs.Document(record.Config, local)
	if doc == record.Document(local) {
		return nil, nil, nil
	}
	return doc, local, nil
}

// share edits a text that replicas share. If another replica has changed the
// text in the meantime, the edit is repeated on the newer text.
func (o WriteOptions) share(d *Draft, doc record.Document, local *Copy, edit func(*Draft) error) (*WriteResult, error) {
	base, err := sharedPart(d.path, d.file) // from the file as the draft read it: the file may be newer by now
	if err != nil {
		return nil, err
	}
	for range 1 + tries {
		var newer []byte
		moved := false
		if err := edit(d); err != nil {
			return nil, err
		}
		res, err := o.commit(d, func(data []byte, _ bool) (string, error) {
			text, err := document.Without(data, d.format, ownSections)
			if err != nil {
				return "", err
			}
			err = doc.Change(func(old []byte) ([]byte, error) {
				if !bytes.Equal(old, base) {
					newer, moved = old, true
					return nil, record.ErrChanged
				}
				return text, nil
			})
			return local.Backup(), err
		})
		if !moved || !errors.Is(err, record.ErrChanged) {
			return res, err
		}
		base = newer
		if d, err = d.on(newer); err != nil {
			return nil, err
		}
	}
	return nil, record.ErrChanged
}

// on returns a draft of a newer shared text.
func (d *Draft) on(text []byte) (*Draft, error) {
	data := d.file
	if text != nil {
		var err error
		if data, err = document.Graft(text, d.file, d.format, ownSections); err != nil {
			return nil, err
		}
	}
	next := &Draft{path: d.path, file: d.file, mode: d.mode}
	return next, next.read(data)
}

// ReplaceText replaces the text that replicas share, including comments. The
// own sections of this replica are kept.
func (d *Draft) ReplaceText(text []byte) error {
	c := &problem.List{}
	text, ok := document.Decode(text, c)
	if !ok {
		return c.Err()
	}
	if found := document.FormatOf("", text); found != d.format && d.format == document.FormatJSON {
		return i18n.Errorf("the text is %s, and %s is %s: all replicas need one form", "文本是 %s，而 %s 是 %s：所有副本须使用同一种格式", found, d.path, d.format)
	}
	data, err := document.Graft(text, d.file, d.format, ownSections)
	if err != nil {
		return err
	}
	if d.root = document.Parse(data, d.format, c); d.root == nil {
		return c.Err()
	}
	d.text = data
	return nil
}
