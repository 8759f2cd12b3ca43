package rate

import "time"

// Spent is how many calls of one rate a replica admitted.
type Spent struct {
	Who       string `json:"who"`
	Schema    string `json:"schema,omitempty"`
	Server    string `json:"server,omitempty"`
	Tool      string `json:"tool,omitempty"`
	PerMinute int    `json:"perMinute"`
	Calls     int    `json:"calls"`
}

// shareEvery is how long calls are collected before the other replicas are told.
// Until then, each of them may admit as many calls as one replica alone.
const shareEvery = 250 * time.Millisecond

// Share makes r tell the other replicas which calls it admits, so that a rate
// holds for all replicas together. No call waits for that. send is called in its
// own goroutine, and not before it has returned from the call before.
func (r *Rates) Share(send func([]Spent)) {
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	r.calls.send = send
}

// Spend counts calls that another replica admitted.
func (r *Rates) Spend(list []Spent) {
	c, now := &r.calls, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range list {
		b := bound{key{s.Who, s.Schema, s.Server, s.Tool}, s.PerMinute}
		if s.PerMinute <= 0 || s.Calls <= 0 {
			continue
		}
		// A client that all replicas admitted at once waits for a minute at most.
		if l := c.bucket(b, now); l.TokensAt(now) > 0 {
			l.ReserveN(now, min(s.Calls, s.PerMinute))
		}
	}
}

// note collects an admitted call for the other replicas. The caller holds the
// mutex.
func (c *counter) note(bounds []bound) {
	if c.send == nil {
		return
	}
	if c.spent == nil {
		c.spent = make(map[bound]int)
		time.AfterFunc(shareEvery, c.share)
	}
	for _, b := range bounds {
		c.spent[b]++
	}
}

// share sends what was collected, and collects again if there was more in the
// meantime.
func (c *counter) share() {
	c.mu.Lock()
	list, send := make([]Spent, 0, len(c.spent)), c.send
	for b, n := range c.spent {
		list = append(list, Spent{b.who, b.schema, b.server, b.tool, b.perMinute, n})
	}
	clear(c.spent)
	c.mu.Unlock()
	send(list)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spent) == 0 {
		c.spent = nil
		return
	}
	time.AfterFunc(shareEvery, c.share)
}
