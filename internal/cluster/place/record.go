package place

import (
	"context"
	"encoding/json"
	"errors"

	"mcp-all-in-one/internal/cluster"
)

// A record is the engine's record of where a server runs. Without a node, the
// server has no owner.
type record struct {
	Node string `json:"node,omitempty"`
	Boot string `json:"boot,omitempty"`
	// Over is the revision that the record replaced, so that a replayed old
	// record is recognised.
	Over uint64 `json:"over,omitempty"`

	epoch uint64 // the record's own revision
	old   bool   // an earlier secret has sealed it
}

// follow watches the records. It restarts the watch whenever the members' watch
// is restarted.
func (k *Keeper) follow() {
	engine, number := k.opt.Members.Engine()
	if engine == nil || number == 0 || k.unwatch != nil && number == k.watch {
		return
	}
	if k.unwatch != nil {
		k.unwatch()
		k.unwatch = nil
	}
	ctx, cancel := context.WithCancel(k.ctx)
	fresh, present := map[string]record{}, true
	err := engine.Watch(ctx, bucket, "", func(v cluster.Value) {
		k.mu.Lock()
		defer k.mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case v.Key == "":
			present = false
			if !k.known {
				k.reseal = unowned(fresh)
			}
			k.records, k.known = fresh, true
		case v.Deleted:
			delete(fresh, v.Key)
		default:
			k.take(fresh, v)
		}
		if !present {
			k.Wake()
		}
	})
	if err != nil {
		cancel()
		k.opt.Log.Debug("watching where servers run", "err", err)
		return
	}
	k.unwatch, k.watch = cancel, number
}

// unowned returns the servers without an owner whose record an earlier secret has
// sealed. Once that secret is removed, no replica could write over such a record.
func unowned(records map[string]record) (names []string) {
	for name, r := range records {
		if r.Node == "" && r.old {
			names = append(names, name)
		}
	}
	return names
}

// take adds a record. k.mu is held.
func (k *Keeper) take(to map[string]record, v cluster.Value) {
	plain, ok := k.opt.Box.OpenAs(bucket+"/"+v.Key, string(v.Data))
	r := record{epoch: v.Revision, old: !k.opt.Box.Current(string(v.Data))}
	last := to[v.Key].epoch
	if !ok || json.Unmarshal(plain, &r) != nil || v.Revision > last && r.Over < last {
		k.opt.Log.Warn("record of where a server runs refused: it was not sealed with the cluster's secret, or is outdated", "server", v.Key)
		return
	}
	if v.Revision > last { // our own write may be known before the watch shows it
		to[v.Key] = r
	}
}

// A writing is a record to be written.
type writing struct {
	server string
	record
}

// write writes a record if the previous one is still the last.
func (k *Keeper) write(w writing) {
	engine, _ := k.opt.Members.Engine()
	if engine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	plain, err := json.Marshal(w.record)
	if err == nil {
		data := []byte(k.opt.Box.SealAs(bucket+"/"+w.server, plain))
		w.epoch, err = engine.Put(ctx, bucket, w.server, data, w.Over, 0)
	}
	switch {
	case errors.Is(err, cluster.ErrConflict): // another replica wrote first, and the watch will show it
		k.opt.Log.Debug("another replica has written where a server runs", "server", w.server)
	case err != nil:
		k.opt.Log.Debug("writing where a server runs", "server", w.server, "err", err)
	default:
		k.wrote(w)
	}
}

func (k *Keeper) wrote(w writing) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.epoch > k.records[w.server].epoch {
		k.records[w.server] = w.record
	}
	if s := k.servers[w.server]; s != nil {
		s.written = w.epoch
	}
	k.judgeLocked()
	k.Wake()
	close(k.gone) // Leave counts again
	k.gone = make(chan struct{})
	k.opt.Log.Info("server placed", "server", w.server, "node", w.Node, "epoch", w.epoch)
}
