package access

import (
	"net/http"
	"time"
)

// An Admission remembers that a request was let in, for others that show the
// same and come from the same place.
type Admission struct {
	policy  *Policy
	keys    bool // by a key of ours
	edition uint64
	expires time.Time
}

// Admission returns that of a request that was let in just now; false when each
// request has to be looked at anew. edition is what Edition returned before.
func (p *Policy) Admission(r *http.Request, who Principal, edition uint64) (Admission, bool) {
	if len(r.Header["Authorization"]) == 0 {
		return Admission{policy: p}, true
	}
	if p.Keys == nil || p.Tokens != nil {
		return Admission{}, false
	}
	return Admission{policy: p, keys: true, edition: edition, expires: who.Expires}, true
}

// Edition changes with the keys.
func (p *Policy) Edition() uint64 {
	if p.Keys == nil {
		return 0
	}
	return p.Keys.edition.Load()
}

// Holds says whether such a request would be let in now. A key that was revoked
// is noticed as soon as by Authenticate.
func (a *Admission) Holds() bool {
	if !a.keys {
		return true
	}
	a.policy.Keys.refresh(false)
	return a.policy.Edition() == a.edition && (a.expires.IsZero() || time.Now().Before(a.expires))
}
