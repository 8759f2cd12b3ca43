package peer

import (
	"context"
	"slices"
	"time"
)

const (
	// repeatFirst is the time after which replicas that have missed news are told
	// again, and repeatMost how long that may become.
	repeatFirst = time.Second
	repeatMost  = 15 * time.Second
)

// A hearer is another replica that was listed when there was news.
type hearer struct {
	listed time.Time // when it was listed last
	missed bool      // it has missed news
}

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
		ctx, cancel := context.WithTimeout(context.Background(), surveyWait)
		listed := k.others.addresses(ctx, "")
		k.note(listed, k.others.tellEach(ctx, listed, wantsPath, news))
		cancel()
	}
}

// note remembers which replicas have missed news. One that hangs may leave the list of
// replicas until it goes on, so those that were listed earlier have missed it, too.
func (k *Wanted) note(listed, missed []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, behind := time.Now(), false
	for _, address := range listed {
		k.hearers[address] = &hearer{now, k.hearers[address] != nil && k.hearers[address].missed}
	}
	for address, h := range k.hearers {
		h.missed = h.missed || h.listed != now || slices.Contains(missed, address)
		behind = behind || h.missed
	}
	if behind && !k.repeating && k.ctx.Err() == nil {
		k.repeating = true
		k.running.Go(k.repeat)
	}
}

// repeat tells the replicas that have missed news everything, until all have heard it.
func (k *Wanted) repeat() {
	for wait := repeatFirst; ; wait = min(2*wait, repeatMost) {
		select {
		case <-k.ctx.Done():
			return
		case <-time.After(wait):
		}
		if !k.again() {
			return
		}
	}
}

// again tells the listed replicas that have missed news everything, and reports whether
// any others have missed it. A replica that has not been listed for long is forgotten:
// the sessions of that time cannot begin again.
func (k *Wanted) again() (behind bool) {
	ctx, cancel := context.WithTimeout(k.ctx, pageWait)
	defer cancel()
	listed := k.others.addresses(ctx, "")
	var due []string
	k.mu.Lock()
	for address, h := range k.hearers {
		if h.missed && slices.Contains(listed, address) {
			due, h.missed = append(due, address), false
		}
	}
	k.mu.Unlock()
	var missed []string
	if len(due) > 0 {
		missed = k.others.tellEach(ctx, due, wantsPath, k.all())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for address, h := range k.hearers {
		switch {
		case slices.Contains(listed, address):
			h.listed, h.missed = time.Now(), h.missed || slices.Contains(missed, address)
		case time.Since(h.listed) > restorable:
			delete(k.hearers, address)
			continue
		}
		behind = behind || h.missed
	}
	k.repeating = behind
	return behind
}

// close ends what is sent again. It waits for news that are being sent, for a bounded
// time.
func (k *Wanted) close() {
	k.mu.Lock()
	k.end() // no goroutine begins after this
	k.mu.Unlock()
	k.running.Wait()
}
