package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

// Records is the bucket of the documents.
const Records = "records"

const (
	// tries is how often an edit is repeated because another replica wrote.
	tries = 3
	// changeTime limits the duration of a change of a document.
	changeTime = 5 * time.Second
)

// DocumentsOptions are the options of NewDocuments.
type DocumentsOptions struct {
	Box *seal.Box // seals the records
	// Open connects to the engine, or returns an existing connection. It may
	// block for some time.
	Open func() (Engine, error)
	// Serials is a file with the serial numbers of the records seen so far.
	// After a restart no older record is accepted. It may be empty.
	Serials string
	Log     *slog.Logger
}

// Documents are the texts that replicas share through an engine. This replica
// keeps local copies, and all reads use the copies. So reads also work while
// the engine is away, and after a start without the engine.
type Documents struct {
	opt   DocumentsOptions
	ctx   context.Context
	stop  context.CancelFunc
	soon  chan struct{} // has one element if there is work to do
	done  chan struct{} // closed when the loop has ended; nil before Start
	first chan struct{} // closed when all present documents have been read

	changing sync.Mutex // held during a change by this process

	mu        sync.Mutex
	engine    Engine
	places    map[string]Place
	watchers  []watcher
	serials   map[string]uint64 // serial of the last accepted record, by name
	unsaved   bool              // serials is newer than its file
	revisions map[string]uint64 // last revisions from the watch, by name
	refused   map[string]bool
	incomplete
	later  []edit // edits to share when the engine is reachable
	closed bool
	away   bool
	since  time.Time // when away last changed
	heard  time.Time // when the engine last responded
	why    error
}

// incomplete is the work of the next round.
type incomplete struct {
	rewatch bool     // a copy differs from what the watch showed
	create  bool     // there may be documents that only this replica has
	reseal  []string // records that an earlier secret had sealed when this replica started
}

type watcher struct {
	prefix  string
	changed func()
}

// An edit is a change that waits to be shared.
type edit struct {
	name, about string
	local       record.Copy
	edit        func([]byte) ([]byte, error)
}

// NewDocuments returns documents that can be changed but are not watched until
// Start. Commands use them without Start.
func NewDocuments(opt DocumentsOptions) *Documents {
	d := &Documents{
		opt: opt, soon: make(chan struct{}, 1), first: make(chan struct{}), places: map[string]Place{},
		revisions: map[string]uint64{}, refused: map[string]bool{}, since: time.Now(), heard: time.Now(),
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.serials = d.readSerials()
	return d
}

// A document is one of the Documents.
type document struct {
	d     *Documents
	name  string
	local record.Copy
}

// Document returns the document with that name.
func (d *Documents) Document(name string, local record.Copy) record.Document {
	return &document{d, name, local}
}

// Read returns the local copy.
func (o *document) Read() ([]byte, error) { return o.local.Read() }

// Change changes the text for all replicas. The local copy is changed before it
// returns.
func (o *document) Change(edit func([]byte) ([]byte, error)) error {
	return o.d.change(o.name, o.local, edit)
}

// Later changes the local copy now, and the shared text as soon as possible.
func (o *document) Later(about string, change func([]byte) ([]byte, error)) error {
	d := o.d
	if d.done == nil {
		return o.Change(change)
	}
	err := o.local.Change(change)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.later = slices.DeleteFunc(d.later, func(e edit) bool { return e.name == o.name && e.about == about })
	d.later = append(d.later, edit{o.name, about, o.local, change})
	d.wake()
	return err
}

// change reads, edits, and writes unless another replica has written in the
// meantime.
func (d *Documents) change(name string, local record.Copy, edit func([]byte) ([]byte, error)) error {
	d.changing.Lock()
	defer d.changing.Unlock()
	engine, err := d.reach()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.ctx, changeTime)
	defer cancel()
	failed := record.ErrChanged
	for n := range 1 + tries {
		now, revision, err := d.fetch(ctx, engine, name, local)
		if old := new(refusedError); errors.As(err, &old) { // an invalid record, or a NATS server that lags behind
			failed = err
			pause(ctx, time.Duration(1+n)*behind)
			continue
		}
		if err != nil {
			return err
		}
		data, err := edit(slices.Clone(now.data))
		if err != nil {
			return err
		}
		if (revision > 0 || data == nil) && bytes.Equal(now.data, data) && (now.data == nil) == (data == nil) {
			d.take(name, now, local)
			return nil
		}
		next := content{nextSerial(now.serial), data}
		_, err = engine.Put(ctx, Records, name, pack(d.opt.Box, name, next), revision, 0)
		switch {
		case err == nil:
			d.take(name, next, local)
			return d.catchUp(ctx, engine, name, next.serial, local)
		case !errors.Is(err, ErrConflict):
			return d.noAgreement(err, true)
		}
	}
	return failed
}

// behind is the first pause for a server of the engine that lags behind
// another.
const behind = 50 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A refusedError means that a record is not valid.
type refusedError struct{ name string }

func (e *refusedError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *refusedError) In(l i18n.Lang) string {
	return i18n.New("the record %s in bucket %s cannot be used: first check that cluster.secret is the same as on the other replicas; if it is, the record was not written by a replica, or is outdated: remove it there, and this replica writes it again",
		"存储桶 %[2]s 中的记录 %[1]s 无法使用：请先确认 cluster.secret 与其他副本相同；如果相同，则该记录不是由副本写入的，或已过时：请将其删除，本副本会重新写入", e.name, Records).In(l)
}

// fetch returns the text in the engine and its revision. If the engine has
// none, it returns the local copy with revision 0.
func (d *Documents) fetch(ctx context.Context, engine Engine, name string, local record.Copy) (content, uint64, error) {
	d.mu.Lock()
	least := d.serials[name]
	d.mu.Unlock()
	v, err := engine.Get(ctx, Records, name)
	switch {
	case errors.Is(err, ErrNone):
		data, err := local.Read()
		return content{least, data}, 0, err
	case err != nil:
		return content{}, 0, d.noAgreement(err, false)
	}
	now, ok := unpack(d.opt.Box, name, v.Data)
	if !ok || now.serial < least {
		return content{}, 0, &refusedError{name}
	}
	return now, v.Revision, nil
}

// catchUp makes sure that the local copy is not older than what another process
// of this machine has written in the meantime. With a watch this is not needed,
// because the watch updates the copy.
func (d *Documents) catchUp(ctx context.Context, engine Engine, name string, serial uint64, local record.Copy) error {
	for d.done == nil {
		now, _, err := d.fetch(ctx, engine, name, local)
		if err != nil || now.serial <= serial {
			return err
		}
		d.take(name, now, local)
		serial = now.serial
	}
	return nil
}

// reach returns the engine. It fails at once if the engine is known to be away.
func (d *Documents) reach() (Engine, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done != nil && d.away {
		return nil, &record.NoAgreement{Since: d.since, Err: d.why}
	}
	if d.engine == nil {
		var err error
		if d.engine, err = d.opt.Open(); err != nil {
			return nil, &record.NoAgreement{Err: err}
		}
	}
	return d.engine, nil
}

func (d *Documents) noAgreement(err error, unsure bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := &record.NoAgreement{Unsure: unsure, Err: err}
	if d.done != nil {
		e.Since = d.heard
		d.wake()
	}
	return e
}
