package cluster

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

// A Place has the local copies of one document, or of all documents with a
// common prefix.
type Place struct {
	// Names returns the names of the existing copies.
	Names func() []string
	// Copy returns the copy with that name, which need not exist.
	Copy func(name string) record.Copy
}

// One returns the place of one document.
func One(name string, local record.Copy) Place {
	return Place{Names: func() []string { return []string{name} }, Copy: func(string) record.Copy { return local }}
}

// Put sets where copies are kept: of the document with that name, or of all
// documents with that prefix if it ends with a slash. Other documents have no
// copies.
func (d *Documents) Put(prefix string, p Place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places[prefix] = p
	d.rewatch = true
	d.wake()
}

// Watch calls changed after another process has changed a document, until
// Close. changed is called without locks and must return quickly.
func (d *Documents) Watch(prefix string, changed func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watchers = append(d.watchers, watcher{prefix, changed})
}

func (d *Documents) copyOf(name string) record.Copy {
	prefix := name
	if i := strings.IndexByte(name, '/'); i >= 0 {
		prefix = name[:i+1]
	}
	if p, ok := d.places[prefix]; ok {
		return p.Copy(name)
	}
	return nil
}

// A content is the plaintext of a record: a text, which is nil for a removed
// document, and a serial number that grows with every change. The serial is at
// least the current time, so a document that is created again is newer than all
// earlier ones.
type content struct {
	serial uint64
	data   []byte
}

// nextSerial returns a serial greater than the one before.
func nextSerial(before uint64) uint64 { return max(before+1, uint64(time.Now().UnixMicro())) }

// The encoding of a content: the format, the serial, the form, the text.
const (
	format   = 1
	headSize = 1 + 8 + 1

	formPlain   = 0
	formDeflate = 1
	formNone    = 2
)

// leastDeflate is the smallest size of a text that is compressed: NATS accepts
// at most a megabyte.
const leastDeflate = 32 << 10

// maxContent is the maximum size of a decompressed text.
const maxContent = 64 << 20

func pack(box *seal.Box, name string, c content) []byte {
	head := append([]byte{format}, binary.BigEndian.AppendUint64(nil, c.serial)...)
	switch {
	case c.data == nil:
		head = append(head, formNone)
	case len(c.data) < leastDeflate:
		head = append(append(head, formPlain), c.data...)
	default:
		small := bytes.NewBuffer(append(head, formDeflate))
		w, _ := flate.NewWriter(small, flate.DefaultCompression) // the level is valid
		w.Write(c.data)                                          // writing to memory does not fail
		w.Close()
		head = small.Bytes()
	}
	return []byte(box.SealAs(Records+"/"+name, head))
}

// unpack decodes a record that was sealed with the secret under that name.
func unpack(box *seal.Box, name string, raw []byte) (c content, ok bool) {
	plain, ok := box.OpenAs(Records+"/"+name, string(raw))
	if !ok || len(plain) < headSize || plain[0] != format {
		return c, false
	}
	c.serial = binary.BigEndian.Uint64(plain[1:])
	text := plain[headSize:]
	switch plain[headSize-1] {
	case formNone:
		return c, true
	case formPlain:
		c.data = text
		return c, true
	case formDeflate:
		var err error
		c.data, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(text)), maxContent))
		return c, err == nil
	}
	return c, false
}

// see handles a value from the watch.
func (d *Documents) see(v Value, shown map[string]uint64) {
	d.mu.Lock()
	d.heard = time.Now()
	if v.Deleted { // replicas never delete a record
		delete(shown, v.Key)
		d.create = true
		d.wake()
		d.mu.Unlock()
		return
	}
	shown[v.Key] = v.Revision
	now, ok := unpack(d.opt.Box, v.Key, v.Data)
	if !ok || now.serial < d.serials[v.Key] {
		if !d.refused[v.Key] {
			d.opt.Log.Warn("shared record refused: it was not sealed with the cluster's secret, or is outdated", "record", v.Key)
		}
		d.refused[v.Key] = true
		d.mu.Unlock()
		return
	}
	delete(d.refused, v.Key)
	select {
	case <-d.first:
	default:
		if !d.opt.Box.Current(string(v.Data)) {
			d.reseal = append(d.reseal, v.Key)
		}
	}
	local := d.copyOf(v.Key)
	d.mu.Unlock()
	d.take(v.Key, now, local)
}

// take updates the local copy to the content of a record, unless a newer one is
// known.
func (d *Documents) take(name string, now content, local record.Copy) {
	d.mu.Lock()
	before := d.serials[name]
	if d.closed || now.serial < before || !d.writeLocked(name, now, local) {
		d.mu.Unlock()
		return
	}
	var tell []func()
	if now.serial > before {
		d.serials[name], d.unsaved = now.serial, true
		for _, w := range d.watchers {
			if name == w.prefix || strings.HasSuffix(w.prefix, "/") && strings.HasPrefix(name, w.prefix) {
				tell = append(tell, w.changed)
			}
		}
	}
	d.mu.Unlock()
	for _, changed := range tell {
		changed()
	}
}

// writeLocked writes a local copy. Before the first write, the content that the
// file had before this replica joined the others is saved.
func (d *Documents) writeLocked(name string, now content, local record.Copy) bool {
	if local == nil {
		return true
	}
	old, err := local.Read()
	if err == nil && bytes.Equal(old, now.data) && (old == nil) == (now.data == nil) {
		return true
	}
	if f, ok := local.(record.File); ok && d.serials[name] == 0 && d.done != nil {
		if kept, err := f.Keep(); kept != "" {
			d.opt.Log.Warn("the file differs from the text that the replicas share, and was set aside", "file", f.Path, "kept", kept, "err", err)
		}
	}
	if err := local.Write(now.data); err != nil {
		d.opt.Log.Error("a shared record could not be written here", "record", name, "err", err)
		d.rewatch = true
		return false
	}
	return true
}

// Count returns the number of shared documents that this replica knows.
func (d *Documents) Count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.revisions)
}

func (d *Documents) readSerials() map[string]uint64 {
	serials := map[string]uint64{}
	if d.opt.Serials == "" {
		return serials
	}
	raw, err := record.File{Path: d.opt.Serials}.Read()
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &serials)
	}
	if err != nil || serials == nil {
		d.opt.Log.Warn("cannot read the list of shared records already seen", "file", d.opt.Serials, "err", err)
		return map[string]uint64{}
	}
	return serials
}

// saveSerials saves the serial numbers of the records seen so far.
func (d *Documents) saveSerials() {
	d.mu.Lock()
	unsaved, serials := d.unsaved, maps.Clone(d.serials)
	d.unsaved = false
	d.mu.Unlock()
	if !unsaved || d.opt.Serials == "" {
		return
	}
	raw, err := json.Marshal(serials)
	if err == nil {
		err = record.File{Path: d.opt.Serials, Durable: true}.Write(raw)
	}
	if err != nil {
		d.opt.Log.Warn("cannot save the list of shared records already seen", "err", err)
	}
}

// missing returns the local copies of documents that the engine does not have.
func (d *Documents) missing() map[string]record.Copy {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := map[string]record.Copy{}
	for _, prefix := range slices.Sorted(maps.Keys(d.places)) {
		for _, name := range d.places[prefix].Names() {
			if d.revisions[name] == 0 {
				list[name] = d.places[prefix].Copy(name)
			}
		}
	}
	return list
}
