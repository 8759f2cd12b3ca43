package inflight

// Culprit returns the call in flight that a question outside any call must belong
// to, unless the table is mixed: the newest call of the only client with calls that
// can ask. It is nil if no client or several clients have such calls. Abandoned calls
// count too.
func (t *Table) Culprit() *Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.culpritLocked()
}

func (t *Table) culpritLocked() *Call {
	var found *Call
	for k := t.first; k != nil; k = k.next {
		switch {
		case !k.asks:
		case found == nil:
			found = k
		case found.Client != k.Client || found.Remote != k.Remote:
			return nil
		}
	}
	if found == nil || t.abandoned.others(found) {
		return nil
	}
	return found
}

// Lend gives a shared connection to the client whose call the roots question
// belongs to, because the server keeps the roots that it is told. It returns that
// call, or nil if no call offers roots.
func (t *Table) Lend() *Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.culpritLocked()
	if k == nil || t.mixed || k.Back == nil || !k.Client.Offers().Roots || t.tenant != nil && t.tenant != k.Client {
		return nil
	}
	t.tenant = k.Client
	return k
}

// Tell records that the server is told roots. They are those of no client unless
// Lend finds one.
func (t *Table) Tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = true
}

// Clean reports whether any other client may use the connection next: the server was
// told no roots, and asks nothing because of a call that has ended.
func (t *Table) Clean() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.told && !t.abandoned.any()
}

// Serves reports whether c may use the connection. A connection that was told the
// roots of a client belongs to that client. One that was told those of no client
// does not serve a client that has roots.
func (t *Table) Serves(c Client, roots bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tenant == c || t.tenant == nil && !(t.told && roots)
}

// OwnedBy reports whether the connection was told the roots of c.
func (t *Table) OwnedBy(c Client) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tenant == c
}

// Mixed reports whether a message that the transport does not tie to a call may
// be about a call of another principal than the one in flight: calls of several
// principals were made on the connection.
func (t *Table) Mixed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mixed
}
