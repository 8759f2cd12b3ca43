package add

import (
	"crypto/rand"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/install/offer"
	"mcp-all-in-one/internal/web/api"
)

const (
	holdTime = 15 * time.Minute // since it was last looked at
	maxHeld  = 32
)

// held are the offers that people look at. They stay here, because their
// answers may be secrets and their bundles files.
type held struct {
	mu   sync.Mutex
	byID map[string]*one
}

// one is an offer that a principal looks at.
type one struct {
	mu    sync.Mutex // one request after the other
	owner string
	offer *offer.Offer
	ready *offer.Ready // as it was shown last

	used time.Time // held.mu guards it
}

// add holds an offer, and lets go of those that nobody looks at any more; of too
// many the oldest.
func (h *held) add(who access.Principal, o *offer.Offer) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = map[string]*one{}
	}
	now := time.Now()
	oldest := ""
	for id, x := range h.byID {
		if now.Sub(x.used) > holdTime {
			h.drop(id)
		} else if oldest == "" || x.used.Before(h.byID[oldest].used) {
			oldest = id
		}
	}
	if len(h.byID) >= maxHeld {
		h.drop(oldest)
	}
	id := rand.Text()
	h.byID[id] = &one{owner: who.ID, offer: o, used: now}
	return id
}

// get is an offer that a principal looks at.
func (h *held) get(who access.Principal, id string) (*one, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.byID[id]
	if x == nil || !who.Owns(x.owner) {
		return nil, api.ErrNotFound
	}
	x.used = time.Now()
	return x, nil
}

// end lets an offer go.
func (h *held) end(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(id)
}

func (h *held) drop(id string) {
	if x := h.byID[id]; x != nil {
		delete(h.byID, id)
		x.offer.Close()
	}
}
