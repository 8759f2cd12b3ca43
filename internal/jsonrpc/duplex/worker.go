package duplex

// A worker is a goroutine that answers requests of the peer, one after the
// other. It is reused because its stack has grown to the size that a request
// needs: growing a new stack costs more than many requests.
type worker struct {
	conn *Conn
	next chan *inbound
}

// start passes a request to the idle worker w, or to a new one if w is nil.
// There are as many workers as the most requests that ran at once.
func (c *Conn) start(in *inbound, w *worker) {
	if w != nil {
		w.next <- in
		return
	}
	w = &worker{conn: c, next: make(chan *inbound, 1)}
	c.workers.Go(func() { w.run(in) })
}

// run answers a request, then the queued requests, then new ones.
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

// dismiss ends the idle workers, and those that would become idle.
func (r *requests) dismiss() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for _, w := range r.idle {
		close(w.next)
	}
	r.idle = nil
}
