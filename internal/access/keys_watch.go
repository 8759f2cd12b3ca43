package access

import (
	"context"
	"os"
	"time"
)

// lookEvery is how long a change of the file may go unnoticed.
const lookEvery = 400 * time.Millisecond

// OnRevoke registers fn, which is called with the id of each principal whose key
// stops being valid as it was: revoked, expired, removed from the file or given
// other scopes. fn is called
// from Watch, Read, Create, Revoke and Authenticate, without locks held. stop
// unregisters fn.
func (k *Keys) OnRevoke(fn func(principalID string)) (stop func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	sub := &fn
	k.subs[sub] = struct{}{}
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.subs, sub)
	}
}

// Watch checks the file until ctx ends, so that a revocation takes effect within
// a second even for a client that sends nothing.
func (k *Keys) Watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.refresh(true)
		}
	}
}

// Read reads the file again. An unreadable file has no valid keys.
func (k *Keys) Read() error {
	if k == nil {
		return nil
	}
	k.refresh(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// refresh reads the file again if it has changed, and notifies the subscribers of
// keys that have ended. Without force it checks at most once per
// lookEvery.
func (k *Keys) refresh(force bool) {
	if last := k.looked.Load(); !force && last != nil && time.Since(*last) < lookEvery {
		return
	}
	now := time.Now()
	k.looked.Store(&now)
	k.mu.Lock()
	info, err := os.Stat(k.path)
	if err != nil {
		info = nil
	}
	if !k.stamp.same(info) || k.err != nil {
		k.list, k.stamp.info, k.err = readKeys(k.path)
		k.byHash = make(map[string][]*Key, len(k.list))
		for i := range k.list {
			key := &k.list[i]
			k.byHash[key.Hash] = append(k.byHash[key.Hash], key)
		}
	}
	ended := k.endedLocked(now)
	var subs []func(string)
	for sub := range k.subs {
		subs = append(subs, *sub)
	}
	k.mu.Unlock()
	for _, id := range ended {
		for _, tell := range subs {
			tell(keyIDPrefix + id)
		}
	}
}

// endedLocked returns the ids of the keys that were valid at the last check and
// are not now, or have other scopes now.
func (k *Keys) endedLocked(now time.Time) []string {
	live := map[string]*Grant{}
	for i := range k.list {
		if k.list[i].Valid(now) {
			live[k.list[i].ID] = &k.list[i].Grant
		}
	}
	var ended []string
	for id, had := range k.live {
		if has := live[id]; has == nil || !has.equal(had) {
			ended = append(ended, id)
		}
	}
	k.live = live
	return ended
}
