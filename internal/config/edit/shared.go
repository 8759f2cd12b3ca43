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

// ownSections are what each replica says of itself where the rest is shared.
var ownSections = []string{"server", "cluster", "logging"}

// A Copy is a config file whose text replicas share, with its comments. The
// sections that each replica has for itself are no part of that text. What
// cannot be used here is not written: the file stays as it was.
type Copy struct {
	path string
	load config.LoadOptions

	mu       sync.Mutex
	known    []byte // the text that was read or written last
	backup   string // what the file was before that
	rejected error
}

// CopyOf is the file at path as a copy of what replicas share.
func CopyOf(path string, load config.LoadOptions) *Copy {
	load.Path = path
	return &Copy{path: disk.RealPath(path), load: load.WithDefaults()}
}

// Read is the text as it is shared; nil for a file that has nothing to share.
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

// sharedPart is what replicas share of a file.
func sharedPart(path string, data []byte) ([]byte, error) {
	format := document.FormatOf(path, data)
	text, err := document.Without(data, format, ownSections)
	if err != nil || text == nil {
		return nil, err
	}
	root := document.Parse(bytes.TrimPrefix(text, document.BOM), format, &problem.List{})
	if root != nil && len(layout.Below(root).Entries) == 0 && !slices.ContainsFunc(root.Members, func(m document.Member) bool { return !slices.Contains(layout.HolderKeys(), m.Key) }) {
		return nil, nil // it waits for what the others have
	}
	return text, nil
}

// Known is the text that this process has read or written last.
func (c *Copy) Known() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// Know takes the file as it is for what is known.
func (c *Copy) Know() error {
	text, err := c.Read()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = text
	return err
}

// Rejected is why the text that is shared cannot be used here; nil when it is.
func (c *Copy) Rejected() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rejected
}

// Backup is what the file was before the last text took its place.
func (c *Copy) Backup() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.backup
}

// Write makes the file what the replicas share, if it can be used here.
func (c *Copy) Write(text []byte) error {
	if text == nil {
		return nil // a gateway without a file has nothing to go on with
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	unlock, err := disk.Lock(c.path + ".shared") // Update holds that of the file while its text is agreed on
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

// joined is a shared text with the sections of this file, checked.
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

// Change changes the file alone.
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

// Later is Change.
func (c *Copy) Later(_ string, edit func([]byte) ([]byte, error)) error { return c.Change(edit) }

// tries is how often an edit is made anew because another replica wrote.
const tries = 3

// shared is the document of the file at path where replicas share it, and its
// copy here; nil where the file is all there is.
func (o WriteOptions) shared(d *Draft) (record.Document, *Copy, error) {
	if o.Load.Share == nil || o.Load.Project || d.old == nil || !d.old.Has("cluster") {
		return nil, nil, nil
	}
	shelf, err := o.Load.Share()
	if err != nil || shelf == nil {
		return nil, nil, err
	}
	local := CopyOf(d.path, o.Load)
	doc := shelf.Document(record.Config, local)
	if doc == record.Document(local) {
		return nil, nil, nil
	}
	return doc, local, nil
}

// share edits a text that replicas share: the new one counts if nobody changed
// it meanwhile, else the edit is made again in what they wrote.
func (o WriteOptions) share(d *Draft, doc record.Document, local *Copy, edit func(*Draft) error) (*WriteResult, error) {
	base, err := sharedPart(d.path, d.file) // of what was read for the draft: the file may be a newer one by now
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

// on is a draft of a newer text that replicas share.
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

// ReplaceText replaces the text that replicas share, with the comments of the
// new one. The sections of this replica stay.
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
