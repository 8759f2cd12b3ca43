package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rights identifies the rights of a token. It is empty for a token without
// restrictions and without the admin scope, and for other credentials. Tokens of one
// person with different rights are different owners: an app with one of them must
// not read what another app did with more rights.
func (p Principal) Rights() string {
	if !strings.HasPrefix(p.ID, tokenIDPrefix) || p.Unbound() && !p.Admin && !p.ReadOnly {
		return ""
	}
	rights := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %t %t", p.Schemas, p.Servers, p.Tools, p.ReadOnly, p.Admin))
	return hex.EncodeToString(rights[:8])
}

// Owner returns the name of the owner of what the principal makes: its tasks,
// messages, runs and questions.
func (p Principal) Owner() string {
	if rights := p.Rights(); rights != "" {
		return "with " + rights + " " + p.ID
	}
	return p.ID
}

// Owns reports whether the principal is the owner of something; owner is the
// result of Owner.
func (p Principal) Owns(owner string) bool { return owner != "" && p.Owner() == owner }

// MayResume reports whether the principal may act in what opened has opened, such
// as a session, where calls have the rights of opened: it is the same principal
// with the same rights. Credentials of one principal may have different rights.
func (p Principal) MayResume(opened Principal) bool {
	return p.ID != "" && p.ID == opened.ID && p.Grant.equal(&opened.Grant)
}

// MayAnswer reports whether the principal may answer a question that asker
// caused. If the question is addressed to an owner, only that one may answer it.
// Otherwise the answer is a decision, as in MayDecide.
func (p Principal) MayAnswer(asker, to string) bool {
	if to != "" {
		return p.Owns(to)
	}
	return p.MayDecide(asker)
}

// Covers reports whether an item of a server is within the bounds of the
// principal, so that it may decide about it. An empty tool means the server as a
// whole, an empty schema the gateway as a whole.
func (p Principal) Covers(schema, server, tool string) bool {
	switch {
	case p.Unbound():
		return true
	case schema == "":
		return false
	case tool == "":
		return p.MayRead(schema, server)
	}
	return p.MaySee(schema, server, tool)
}

// MayLookInto reports whether the principal may read a message that owner sent to
// a server: any message of its own, and an administrator those of
// others for servers that it covers. A message without a server covers all that
// owner sees, so only an administrator without bounds may read it.
func (p Principal) MayLookInto(owner, schema, server, tool string) bool {
	return p.Owns(owner) || p.Admin && p.ID != "" && (p.Unbound() || server != "" && p.Covers(schema, server, tool))
}

// MayCount reports whether the principal may read how often a principal used an item
// of a server. Such figures belong to a person: a token with fewer rights reads those
// of what it covers.
func (p Principal) MayCount(principal, schema, server, tool string) bool {
	mine := p.ID != "" && p.ID == principal && p.Covers(schema, server, tool)
	return mine || p.MayLookInto(principal, schema, server, tool)
}

// MayInspect reports whether the principal may read the logs, addresses, paths
// and statistics of servers, which may contain data of other principals. If no
// key is needed, there are no other principals.
func (p Principal) MayInspect() bool {
	return p.ID != "" && (p.Admin || p.ID == Anonymous.ID)
}

// Current returns the current state of a principal that was stored earlier; false
// if its key was revoked or its credential has expired.
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

// Until returns when the credential of the principal ends, which ends the streams
// that were opened with it; zero means never. A token ends when authenticate
// refuses it.
func (p Principal) Until() time.Time {
	if p.Expires.IsZero() || !strings.HasPrefix(p.ID, tokenIDPrefix) {
		return p.Expires
	}
	return p.Expires.Add(skew)
}

// Bound returns a context that ends with ctx, and with the credential of the
// principal.
func (p Principal) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if until := p.Until(); !until.IsZero() {
		return context.WithDeadline(ctx, until)
	}
	return context.WithCancel(ctx)
}

// Ended returns the ids of the principals that old admits and p does not. Tokens
// are not included: they are checked at each request, and a stream ends with its
// own (see Until), because the principal may have a newer one.
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
		return ids // unreadable keys are refused anyway
	}
	for i := range list {
		if _, ok := p.Keys.current(list[i].ID); !ok {
			ids = append(ids, keyIDPrefix+list[i].ID)
		}
	}
	return ids
}

// DecidesFor reports whether there may be a principal that can approve a request
// of asker. For everyone but the owner, the owner can.
func (p *Policy) DecidesFor(asker string) bool {
	if asker != Owner.ID || p.Tokens != nil && p.Tokens.verifier != nil {
		return true
	}
	if p.Keys == nil {
		return false
	}
	list, err := p.Keys.List()
	now := time.Now()
	return err == nil && slices.ContainsFunc(list, func(k Key) bool { return k.Valid(now) && k.principal().MayDecide(asker) })
}

// The prefixes of the IDs of principals with a key, and with a token.
const (
	keyIDPrefix   = "key:"
	tokenIDPrefix = "token:"
)

// soleKey is the principal of the key in the configuration (access.key).
var soleKey = Principal{ID: keyIDPrefix + "access.key", Name: "access.key"}

// current returns the principal of a valid key by its id.
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
