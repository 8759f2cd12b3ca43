package upstream

// culprit returns the call in flight that a question outside any call belongs
// to: the latest of the only client that has calls which can ask. It is nil when
// there is none, or when several clients have.
func (l *link) culprit() *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.culpritLocked()
}

func (l *link) culpritLocked() *call {
	var found *call
	for k := l.first; k != nil; k = k.next {
		switch {
		case !k.asks:
		case found == nil:
			found = k
		case found.caller != k.caller || found.client != k.client:
			return nil
		}
	}
	return found
}

// lend gives a shared connection to the client whose call asks for its roots: a
// server keeps what it was told. It returns that call, nil where there is none
// that offers roots.
func (l *link) lend() *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.culpritLocked()
	if k == nil || k.back == nil || !k.caller.Offer.Roots || l.tenant != nil && l.tenant != k.caller {
		return nil
	}
	l.tenant = k.caller
	return k
}

// serves says whether c may use the connection: one that was told the roots of a
// client belongs to that client.
func (l *link) serves(c *Caller) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tenant == nil || l.tenant == c
}

// ownedBy says whether the connection was told the roots of c.
func (l *link) ownedBy(c *Caller) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tenant == c
}

// mayLend says that a shared connection may be given to one client: where the
// transport does not tell whose call a question belongs to, and clients can have
// another connection.
func (l *link) mayLend() bool {
	u := l.up
	return u.Config().Share == "auto" && !l.slot.exact && u.opt.Greeting == nil
}

// isMixed says whether a message that the transport ties to no call may be about
// a call of another principal than the one in flight.
func (l *link) isMixed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mixed
}
