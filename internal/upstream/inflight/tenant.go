package inflight

// Culprit returns the call in flight that a question outside any call belongs
// to: the latest of the only client that has calls which can ask. It is nil when
// there is none, or when several clients have.
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
	return found
}

// Lend gives a shared connection to the client whose call asks for its roots: a
// server keeps what it was told. It returns that call, or nil if no call offers
// roots.
func (t *Table) Lend() *Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.culpritLocked()
	if k == nil || k.Back == nil || !k.Client.Offers().Roots || t.tenant != nil && t.tenant != k.Client {
		return nil
	}
	t.tenant = k.Client
	return k
}

// Serves says whether c may use the connection: one that was told the roots of a
// client belongs to that client.
func (t *Table) Serves(c Client) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tenant == nil || t.tenant == c
}

// OwnedBy says whether the connection was told the roots of c.
func (t *Table) OwnedBy(c Client) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tenant == c
}

// Mixed says whether a message that the transport ties to no call may be about
// a call of another principal than the one in flight.
func (t *Table) Mixed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mixed
}
