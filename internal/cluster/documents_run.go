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

// Start keeps the copies what the replicas share, until Close. It returns at
// once. Documents that only this replica has are made of its copies.
func (d *Documents) Start() {
	d.done, d.away, d.why = make(chan struct{}), true, i18n.Errorf("the engine is not reached yet", "尚未连接到引擎")
	f := &follower{Documents: d}
	go f.run()
}

// Close ends it.
func (d *Documents) Close() {
	d.stop()
	if d.done != nil {
		<-d.done
	}
}

// Read is closed when all that the replicas share was read once.
func (d *Documents) Read() <-chan struct{} { return d.first }

func (d *Documents) wake() {
	select {
	case d.soon <- struct{}{}:
	default:
	}
}

// A follower keeps the copies what the replicas share.
type follower struct {
	*Documents
	unwatch context.CancelFunc // nil without a watch
	turn    int                // of the document that is looked at next
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

// round looks after the watch, and does what waits for the engine.
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
		return nil // until all that is present was shown it is not known what is missing
	}
	if err := f.createMissing(engine); err != nil {
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

// compare asks the engine for one document, each time for the next: whether it
// is there, and whether the watch showed what it has. A watch that did not is
// made anew.
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
		f.stale++ // or it was written just now
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

// namesLocked are the documents that the watch showed, and those that it should
// have shown if they are there.
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

// watch begins to follow all documents.
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

// reached notes that all that is present was shown.
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

// lost notes that the engine is away.
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

// createMissing makes the documents that only this replica has. Of several that
// try, one succeeds, and the others read.
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

// shareLater shares what was learnt.
func (f *follower) shareLater() error {
	f.mu.Lock()
	waiting := f.later
	f.later = nil
	f.mu.Unlock()
	for i, e := range waiting {
		err := f.change(e.name, e.local, e.edit)
		var none *record.NoAgreement
		if errors.As(err, &none) {
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

// putBack lets edits wait on, unless there is a newer one about the same.
func (d *Documents) putBack(list []edit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range list {
		if !slices.ContainsFunc(d.later, func(newer edit) bool { return newer.name == e.name && newer.about == e.about }) {
			d.later = append(d.later, e)
		}
	}
}
