package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
)

// Start keeps the local copies up to date until Close. It does not block. A
// document that only this replica has is created from its copy.
func (d *Documents) Start() {
	d.done, d.away, d.why = make(chan struct{}), true, i18n.Errorf("the engine is not reached yet", "尚未连接到引擎")
	f := &follower{Documents: d}
	go f.run()
}

// Close stops the updates. A value that the watch is about to handle is not
// written any more: the next process may have written a newer one by then.
func (d *Documents) Close() {
	d.stop()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	if d.done != nil {
		<-d.done
	}
}

// Read returns a channel that is closed when all shared documents have been
// read once.
func (d *Documents) Read() <-chan struct{} { return d.first }

func (d *Documents) wake() {
	select {
	case d.soon <- struct{}{}:
	default:
	}
}

// A follower keeps the local copies up to date.
type follower struct {
	*Documents
	unwatch context.CancelFunc // nil without a watch
	turn    int                // index of the next document to compare
	stale   int                // how often it was newer than what the watch showed
}

func (f *follower) run() {
	defer close(f.done)
	defer f.saveSerials()
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		if err := f.round(); err != nil && f.ctx.Err() == nil {
			f.lost(err)
		}
		f.saveSerials()
		select {
		case <-tick.C:
		case <-f.soon:
		case <-f.ctx.Done():
			return
		}
	}
}

// round restores the watch if necessary, and does the work that waits for the
// engine.
func (f *follower) round() error {
	engine, err := f.opened()
	if err != nil {
		return err
	}
	if err := f.compare(engine); err != nil {
		return err
	}
	if f.unwatch == nil {
		if err := f.watch(engine); err != nil {
			return err
		}
	}
	f.mu.Lock()
	away := f.away
	f.mu.Unlock()
	if away {
		return nil // documents can only be missing after the watch has shown all present ones
	}
	if err := f.createMissing(engine); err != nil {
		return err
	}
	if err := f.sealAgain(engine); err != nil {
		return err
	}
	return f.shareLater()
}

func (d *Documents) opened() (Engine, error) {
	d.mu.Lock()
	engine := d.engine
	d.mu.Unlock()
	if engine != nil {
		return engine, nil
	}
	engine, err := d.opt.Open()
	if err == nil {
		d.mu.Lock()
		d.engine = engine
		d.mu.Unlock()
	}
	return engine, err
}

// compare reads one document from the engine, in each round the next one. It
// checks whether the document exists and whether the watch has shown its
// revision. If not, the watch is restarted.
func (f *follower) compare(engine Engine) error {
	f.mu.Lock()
	names := f.namesLocked()
	again := f.rewatch
	f.rewatch = false
	name, shown := "none", uint64(0)
	if len(names) > 0 {
		name = names[f.turn%len(names)]
		shown = f.revisions[name]
	}
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	v, err := engine.Get(ctx, Records, name)
	switch {
	case err != nil && !errors.Is(err, ErrNone):
		return err
	case v.Revision == shown:
		f.stale = 0
		f.turn++
	default:
		f.stale++ // the watch missed it, or it was written just now
	}
	f.mu.Lock()
	f.heard = time.Now()
	f.mu.Unlock()
	if (again || f.stale > 1) && f.unwatch != nil {
		f.unwatch()
		f.unwatch, f.stale = nil, 0
	}
	return nil
}

// namesLocked returns the documents that the watch has shown, and those that it
// would have shown if they existed.
func (f *follower) namesLocked() []string {
	names := slices.Collect(maps.Keys(f.revisions))
	for prefix := range f.places {
		if !strings.HasSuffix(prefix, "/") && f.revisions[prefix] == 0 {
			names = append(names, prefix)
		}
	}
	slices.Sort(names)
	return names
}

// watch starts to follow all documents.
func (f *follower) watch(engine Engine) error {
	ctx, cancel := context.WithCancel(f.ctx)
	shown := map[string]uint64{}
	err := engine.Watch(ctx, Records, "", func(v Value) {
		switch {
		case ctx.Err() != nil:
		case v.Key == "":
			f.reached(shown)
		default:
			f.see(v, shown)
		}
	})
	if err != nil {
		cancel()
		return err
	}
	f.unwatch = cancel
	return nil
}

// reached records that the watch has shown all present documents.
func (f *follower) reached(shown map[string]uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revisions, f.create, f.heard = shown, true, time.Now()
	if f.away {
		f.away, f.since, f.why = false, f.heard, nil
		f.opt.Log.Info("shared records read", "records", len(shown))
	}
	select {
	case <-f.first:
	default:
		close(f.first)
	}
	f.wake()
}

// lost records that the engine is away.
func (f *follower) lost(err error) {
	if f.unwatch != nil {
		f.unwatch()
		f.unwatch = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why = err
	if !f.away {
		f.away, f.since = true, f.heard
		f.opt.Log.Warn("shared records cannot be changed now; the known ones stay in effect", "since", f.since, "err", err)
	}
}

// createMissing creates the documents that only this replica has. If several
// replicas try, one succeeds and the others read its document.
func (f *follower) createMissing(engine Engine) error {
	f.mu.Lock()
	create := f.create
	f.create = false
	f.mu.Unlock()
	if !create {
		return nil
	}
	for name, local := range f.missing() {
		data, err := local.Read()
		if err != nil || len(data) == 0 {
			continue
		}
		f.mu.Lock()
		now := content{nextSerial(f.serials[name]), data}
		f.mu.Unlock()
		ctx, cancel := context.WithTimeout(f.ctx, patience)
		_, err = engine.Put(ctx, Records, name, pack(f.opt.Box, name, now), 0, 0)
		cancel()
		switch {
		case err == nil:
			f.take(name, now, local)
		case !errors.Is(err, ErrConflict):
			f.mu.Lock()
			f.create = true
			f.mu.Unlock()
			return err
		}
	}
	return nil
}

// sealAgain seals records of an earlier secret with the first one, so that the
// earlier one can be removed. It does that only after the start: while the secret
// is changed, replicas with another first secret would undo it again and again.
func (f *follower) sealAgain(engine Engine) error {
	f.mu.Lock()
	names := f.reseal
	f.reseal = nil
	f.mu.Unlock()
	for i, name := range names {
		if err := f.sealOne(engine, name); err != nil {
			f.mu.Lock()
			f.reseal = append(f.reseal, names[i:]...)
			f.mu.Unlock()
			return err
		}
	}
	return nil
}

func (f *follower) sealOne(engine Engine, name string) error {
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	v, err := engine.Get(ctx, Records, name)
	if err == nil {
		now, ok := unpack(f.opt.Box, name, v.Data)
		f.mu.Lock()
		least := f.serials[name]
		f.mu.Unlock()
		if !ok || now.serial < least || f.opt.Box.Current(string(v.Data)) {
			return nil
		}
		_, err = engine.Put(ctx, Records, name, pack(f.opt.Box, name, now), v.Revision, 0)
	}
	if errors.Is(err, ErrNone) || errors.Is(err, ErrConflict) { // another replica wrote
		return nil
	}
	return err
}

// shareLater shares the edits that wait.
func (f *follower) shareLater() error {
	f.mu.Lock()
	waiting := f.later
	f.later = nil
	f.mu.Unlock()
	for i, e := range waiting {
		err := f.change(e.name, e.local, e.edit)
		if none, ok := errors.AsType[*record.NoAgreement](err); ok {
			f.putBack(waiting[i:])
			return none.Err
		}
		if errors.Is(err, record.ErrChanged) {
			f.putBack(waiting[i : i+1])
		} else if err != nil {
			f.opt.Log.Warn("cannot share a record", "record", e.name, "err", err)
		}
	}
	return nil
}

// putBack queues edits again, unless there is a newer one about the same thing.
func (d *Documents) putBack(list []edit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range list {
		if !slices.ContainsFunc(d.later, func(newer edit) bool { return newer.name == e.name && newer.about == e.about }) {
			d.later = append(d.later, e)
		}
	}
}
