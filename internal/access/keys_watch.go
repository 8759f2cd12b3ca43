package access

import (
	"context"
	"os"
	"time"
)

// lookEvery bounds how long a change of the file goes unnoticed.
const lookEvery = 400 * time.Millisecond

// OnRevoke calls fn with the id of each principal whose key stops being valid:
// revoked, expired, or gone from the file. It is called from Watch, Read,
// Create, Revoke and Authenticate, without locks held. The returned function ends it.
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

// Watch looks after the file until ctx ends, so that a revocation counts
// within a second also for a client that sends nothing.
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

// Read has what the file says now count from here on. A file that cannot be read
// holds no valid key.
func (k *Keys) Read() error {
	if k == nil {
		return nil
	}
	k.refresh(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// refresh reads the file again when it has changed, and tells whose key is not
// valid any more. Without force it looks only now and then.
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

// endedLocked returns the ids of the keys that were valid before and are not
// now.
func (k *Keys) endedLocked(now time.Time) []string {
	live := map[string]bool{}
	for i := range k.list {
		if k.list[i].Valid(now) {
			live[k.list[i].ID] = true
		}
	}
	var ended []string
	for id := range k.live {
		if !live[id] {
			ended = append(ended, id)
		}
	}
	k.live = live
	return ended
}
