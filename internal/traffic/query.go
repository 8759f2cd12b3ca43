package traffic

import "time"

// lockSlice is how many entries a query reads before it releases the lock for
// writers.
const lockSlice = 256

// Get returns one entry with the heads of its bodies.
func (r *Recorder) Get(id uint64) (Call, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(id)
	if e == nil {
		return Call{}, false
	}
	c := r.callOf(e)
	c.ReqHead, _ = r.heads.get(nil, e.head(Request))
	c.ResHead, _ = r.heads.get(nil, e.head(Response))
	return c, true
}

// Body returns one body of an entry. whole is false if only its head was kept;
// the body is nil if the head was overwritten too.
func (r *Recorder) Body(id uint64, side Side) (body []byte, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(id)
	if e == nil {
		return nil, false
	}
	size := e.size(side)
	if full := r.whole[id][side]; full.n > 0 {
		if b, ok := r.bodies.get(nil, full); ok {
			return b, full.n == size
		}
	}
	head := e.head(side)
	if b, ok := r.heads.get(nil, head); ok {
		return b, head.n == size
	}
	return nil, size == 0
}

// Rev returns the revision of the last change.
func (r *Recorder) Rev() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rev
}

// List returns up to limit entries that match f, newest first, with ids below
// before (0: from the newest), and the revision at which they were read. A nil
// filter matches everything.
func (r *Recorder) List(f *Filter, before uint64, limit int) (calls []Call, rev uint64) {
	now := r.now()
	r.mu.Lock()
	rev = r.rev
	next := r.ids
	r.mu.Unlock()
	if before > 0 && before <= next {
		next = before - 1
	}
	for next > 0 && len(calls) < limit {
		var ended bool
		calls, next, ended = r.listSlice(f, now, calls, next, limit)
		if ended {
			break
		}
	}
	return calls, rev
}

// listSlice reads at most lockSlice entries, downwards from next.
func (r *Recorder) listSlice(f *Filter, now time.Time, calls []Call, next uint64, limit int) ([]Call, uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var req, res []byte
	for range lockSlice {
		e := r.entry(next)
		if e == nil {
			return calls, next, true
		}
		next--
		c := r.callOf(e)
		ok := f == nil || f.match(&c, now)
		if ok && f != nil && f.wantsText() {
			req, _ = r.heads.get(req[:0], e.head(Request))
			res, _ = r.heads.get(res[:0], e.head(Response))
			ok = f.matchText(&c, req, res)
		}
		if ok {
			calls = append(calls, c)
			if len(calls) == limit {
				return calls, next, true
			}
		}
	}
	return calls, next, next == 0
}

// Related returns the entries that belong to the same call, oldest first: the
// root entry and all its descendants.
func (r *Recorder) Related(id uint64) []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entry(id)
	if e == nil {
		return nil
	}
	for {
		up := r.entry(e.parent)
		if up == nil || up.id >= e.id {
			break
		}
		e = up
	}
	family := map[uint64]bool{e.id: true}
	out := []Call{r.callOf(e)}
	for at := e.id + 1; at <= r.ids; at++ {
		c := r.entry(at)
		if c != nil && c.parent != 0 && family[c.parent] {
			family[at] = true
			out = append(out, r.callOf(c))
		}
	}
	return out
}

// Lines returns up to limit of the newest lines of a server, oldest first; ""
// means all servers. Lines with ids up to after are left out.
func (r *Recorder) Lines(server string, after uint64, limit int) []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Line
	for id := r.lineID; id > after && len(out) < limit; id-- {
		l := r.lines.at(id)
		if l.ID != id {
			break
		}
		if server == "" || l.Server == server {
			out = append(out, *l)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
