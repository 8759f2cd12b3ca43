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
	holdTime = 15 * time.Minute // since the last request for it
	maxHeld  = 32
)

// held keeps the offers that users look at. They stay in the gateway, because
// answers may contain secrets and bundles are files.
type held struct {
	mu   sync.Mutex
	byID map[string]*one
}

// one is an offer and the principal that looks at it.
type one struct {
	mu    sync.Mutex // serializes the requests
	owner string
	offer *offer.Offer
	ready *offer.Ready // the version that was shown last

	used time.Time // guarded by held.mu
}

// add keeps an offer. It drops expired offers, and the oldest one if there are
// too many.
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
	h.byID[id] = &one{owner: who.Owner(), offer: o, used: now}
	return id
}

// get returns an offer of a principal.
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

// end drops an offer.
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
