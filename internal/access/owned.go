package access

import (
	"strings"
	"time"
)

// Owns says whether something belongs to the principal itself. What acts in the
// name of its owner, such as an open session, is for the owner alone.
func (p Principal) Owns(owner string) bool { return p.ID != "" && p.ID == owner }

// MayAnswer says whether the principal may answer a question that asker caused.
// One that was put to a principal is for that one alone; any other is a
// decision.
func (p Principal) MayAnswer(asker, to string) bool {
	if to != "" {
		return p.Owns(to)
	}
	return p.MayDecide(asker)
}

// MayInspect says whether the principal may read what servers write and where
// they are: their logs, addresses, paths and figures, which may hold what others
// sent. Where no key is needed there are no others.
func (p Principal) MayInspect() bool {
	return p.ID != "" && (p.Admin || p.ID == Anonymous.ID)
}

// Current returns a principal that was kept, as it is now; false when its key
// was revoked, or its credential has expired.
func (p *Policy) Current(who Principal) (Principal, bool) {
	if who.ID == Owner.ID {
		return Owner, true
	}
	if who.ID == soleKey.ID {
		return soleKey, p.Key != ""
	}
	if id, ok := strings.CutPrefix(who.ID, keyIDPrefix); ok {
		return p.Keys.current(id)
	}
	return who, who.ID != "" && (who.Expires.IsZero() || time.Now().Before(who.Expires))
}

// Ended are the ids of the principals whom old let in and p does not. Tokens
// are judged at each request.
func (p *Policy) Ended(old *Policy) []string {
	var ids []string
	if p.Required && !old.Required {
		ids = append(ids, Anonymous.ID)
	}
	if old.Key != "" && old.Key != p.Key {
		ids = append(ids, soleKey.ID)
	}
	if old.Keys == nil || old.Keys == p.Keys {
		return ids
	}
	list, err := old.Keys.List()
	if err != nil {
		return ids // they are refused anyway
	}
	for i := range list {
		if _, ok := p.Keys.current(list[i].ID); !ok {
			ids = append(ids, keyIDPrefix+list[i].ID)
		}
	}
	return ids
}

// DecidesFor says whether there may be a principal that decides what another one
// asked for. The owner always is there for the others.
func (p *Policy) DecidesFor(asker string) bool {
	if asker != Owner.ID || p.Tokens != nil {
		return true
	}
	if p.Keys == nil {
		return false
	}
	list, err := p.Keys.List()
	now := time.Now()
	for i := range list {
		if who := list[i].principal(); err == nil && list[i].Valid(now) && who.MayDecide(asker) {
			return true
		}
	}
	return false
}

// keyIDPrefix begins the ID of the principal of a key.
const keyIDPrefix = "key:"

// soleKey is the principal of the key that the config file has.
var soleKey = Principal{ID: keyIDPrefix + "access.key", Name: "access.key"}

// current returns the principal of a key by its id.
func (k *Keys) current(id string) (Principal, bool) {
	if k == nil {
		return Principal{}, false
	}
	k.refresh(false)
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.list {
		if k.list[i].ID == id && k.list[i].Valid(now) {
			return k.list[i].principal(), true
		}
	}
	return Principal{}, false
}
