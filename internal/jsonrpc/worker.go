package jsonrpc

// A worker is a goroutine that answers requests of the peer, one after the
// other. It is kept because its stack has grown to what a request needs:
// growing a new one costs more than many requests do.
type worker struct {
	conn *Conn
	next chan *inbound
}

// start gives a request to a worker that waits, or to a new one where w is nil. As
// many are kept as ran at once.
func (c *Conn) start(in *inbound, w *worker) {
	if w != nil {
		w.next <- in
		return
	}
	w = &worker{conn: c, next: make(chan *inbound, 1)}
	c.workers.Go(func() { w.run(in) })
}

// run answers a request, then those that waited for its place, then those that
// come.
func (w *worker) run(in *inbound) {
	c := w.conn
	for in != nil {
		resp, err := in.handle()
		in.finish(resp, err)
		next, dismissed := c.requests.leave(in, w)
		c.running.Done()
		if next == nil && !dismissed {
			next = <-w.next
		}
		in = next
	}
}

// dismiss ends the workers that wait, and those that would.
func (r *requests) dismiss() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, w := range r.idle {
		close(w.next)
	}
	r.idle = nil
}
