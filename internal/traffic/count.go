package traffic

import (
	"strconv"
	"time"
)

// counted caches the counters of a server and its tool; nil until there are
// calls.
type counted struct{ server, tool *stat }

// count counts a call that has ended.
func (r *record) count(e *entry) {
	if e.bench || e.kind != kindCall || e.fromServer {
		return
	}
	minute := (e.start + int64(e.total)) / int64(time.Minute)
	reason := r.failureOf(e)
	switch server := r.serverOf(e); {
	case e.hop == hopServer && server != "":
		k := r.countedOf(e, server)
		k.server.add(e.total, minute, reason)
		k.server.happened(e)
		if k.tool != nil {
			k.tool.add(e.total, minute, reason)
		}
	case e.hop == hopClient && e.parent == 0: // not calls caused by another call of the client
		if r.stats.clients == nil {
			r.stats.clients = r.stats.get(statKey{})
		}
		r.stats.clients.add(e.total, minute, reason)
		r.stats.clients.happened(e)
	}
}

// happened adds a call that has ended to the history.
func (st *stat) happened(e *entry) {
	if st.history != nil { // nil for the overflow counter "…"
		st.history.add(time.Duration(e.start)+e.total, e.total, e.status)
	}
}

// countedOf returns the counters of a server and its tool.
func (r *record) countedOf(e *entry, server string) counted {
	row := &r.what.rows[e.what]
	if row.data.server != nil && row.key.server == server {
		return row.data
	}
	k := counted{server: r.stats.get(statKey{server, ""})}
	if row.key.name != "" {
		k.tool = r.stats.get(statKey{server, row.key.name})
	}
	if row.key.server == server {
		row.data = k
	}
	return k
}

// failureOf returns why a call failed; empty if it did not.
func (r *record) failureOf(e *entry) string {
	if e.status != failed && e.status != toolFailed {
		return ""
	}
	if e.reason != 0 {
		return r.reasons.rows[e.reason].key
	}
	if e.code != 0 {
		return statuses[e.status] + " " + strconv.FormatInt(e.code, 10)
	}
	return statuses[e.status]
}
