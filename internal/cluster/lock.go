package cluster

import (
	"context"
	"errors"
	"time"

	"mcp-all-in-one/internal/record"
)

const (
	// lockLife is how long a lock lasts after its owner has died.
	lockLife = 30 * time.Second
	// lockWait is the pause before a lock is tried again.
	lockWait = 200 * time.Millisecond
)

// Lock gives this replica exclusive access to a document until unlock is called
// or 30 seconds have passed. It waits for the lock until ctx ends. When it
// returns, the local copy has the text of the previous lock owner.
func (d *Documents) Lock(ctx context.Context, name string, local record.Copy) (unlock func(), err error) {
	engine, err := d.reach()
	if err != nil {
		return nil, err
	}
	key := "lock/" + name
	revision, err := engine.Put(ctx, Live, key, []byte("locked"), 0, lockLife)
	for ; errors.Is(err, ErrConflict) && ctx.Err() == nil; revision, err = engine.Put(ctx, Live, key, []byte("locked"), 0, lockLife) {
		pause(ctx, lockWait)
	}
	if err != nil {
		return nil, d.noAgreement(err, false)
	}
	unlock = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if err := engine.Delete(ctx, Live, key, revision); err != nil {
			d.opt.Log.Debug("unlocking a shared record", "record", name, "err", err)
		}
	}
	now, revisionNow, err := d.fetch(ctx, engine, name, local)
	if err != nil {
		unlock()
		return nil, err
	}
	if revisionNow > 0 {
		d.take(name, now, local)
	}
	return unlock, nil
}
