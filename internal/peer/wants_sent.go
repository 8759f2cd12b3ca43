package peer

import (
	"context"
	"slices"
	"time"
)

const (
	// repeatFirst is after what time a replica that has missed news is told again,
	// and repeatMost how long that may become.
	repeatFirst = time.Second
	repeatMost  = 15 * time.Second
)

// take returns what was not sent yet. If there is nothing, sending ends.
func (k *Wanted) take() map[string]knowledge {
	k.mu.Lock()
	defer k.mu.Unlock()
	news := make(map[string]knowledge)
	for id, who := range k.unsent {
		s := k.of[who]
		if s == nil {
			continue
		}
		n, ok := news[who]
		if !ok {
			n = knowledge{make(map[tag]want), make(map[tag]int64), s.Until}
			news[who] = n
		}
		if w, ok := s.Wants[id]; ok {
			n.Wants[id] = w
		}
		if began, ok := s.Final[id]; ok {
			n.Final[id] = began
		}
	}
	k.unsent, k.sending = nil, len(news) > 0
	return news
}

// send sends what is new to all other replicas, until there is no more.
func (k *Wanted) send() {
	for news := k.take(); len(news) > 0; news = k.take() {
		for _, address := range k.others.tellAll(wantsPath, news) {
			k.miss(address)
		}
	}
}

// miss remembers that a replica has missed news.
func (k *Wanted) miss(address string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.missed[address]; !ok && k.ctx.Err() == nil {
		k.running.Go(func() { k.repeat(address) })
	}
	k.missed[address] = true
}

// repeat tells a replica that has missed news everything, until it has heard it.
func (k *Wanted) repeat(address string) {
	since := time.Now()
	for wait := repeatFirst; ; wait = min(2*wait, repeatMost) {
		select {
		case <-k.ctx.Done():
			return
		case <-time.After(wait):
		}
		if k.again(address, since) {
			return
		}
	}
}

// again tells a replica everything, and reports whether nothing is left to tell. One
// that hangs may leave the engine's list of replicas until it goes on. So one that is
// not listed is given up only when the sessions of that time cannot begin again.
func (k *Wanted) again(address string, since time.Time) (over bool) {
	ctx, cancel := context.WithTimeout(k.ctx, pageWait)
	defer cancel()
	k.mu.Lock()
	k.missed[address] = false
	k.mu.Unlock()
	if slices.Contains(k.others.addresses(ctx, ""), address) {
		over = len(k.others.tellEach(ctx, []string{address}, wantsPath, k.all())) == 0
	} else {
		over = time.Since(since) > restorable
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if over = over && !k.missed[address]; over {
		delete(k.missed, address)
	}
	return over
}

// close ends what is sent again. It waits for news that are being sent, for a bounded
// time.
func (k *Wanted) close() {
	k.mu.Lock()
	k.end() // no goroutine begins after this
	k.mu.Unlock()
	k.running.Wait()
}
