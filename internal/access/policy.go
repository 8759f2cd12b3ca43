package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// maxCredential is far above the length of any key or token.
const maxCredential = 16 << 10

// A Policy decides who may use the gateway. The zero Policy admits all clients on
// this machine.
type Policy struct {
	// Required demands a credential from every client.
	Required bool
	// Keys are the keys of this gateway; nil means none.
	Keys *Keys
	// Key is the hash of the key in the configuration (access.key); empty means
	// none.
	Key string
	// Tokens checks the tokens of an authorization server; nil means none.
	Tokens *ResourceServer
	// Share says that this gateway is its own authorization server, whose tokens
	// are Keys; without a URL it is none.
	Share config.Sharing
}

// leastKey is the minimum length of a key that a user made.
const leastKey = 20

// SetKey sets the key of the configuration (access.key).
func (p *Policy) SetKey(key config.Secret) error {
	if len(key) < leastKey {
		return i18n.Errorf("access.key is shorter than %d characters: make one with openssl rand -hex 32", "access.key 少于 %d 个字符：可用 openssl rand -hex 32 生成", leastKey)
	}
	p.Key = hashKey(key.Reveal())
	return nil
}

// A Refusal is the answer to a client that is not admitted.
type Refusal struct {
	// Status is 401 or 403.
	Status int
	// Challenge is the value of WWW-Authenticate.
	Challenge string
	// Reason is for the log and the body. It repeats no data of the request.
	Reason string
}

func (r *Refusal) Error() string { return r.Reason }

// Write writes the refusal as the response.
func (r *Refusal) Write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("WWW-Authenticate", r.Challenge)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(r.Status)
	fmt.Fprintln(w, r.Reason)
}

// Authenticate returns the principal of a request. An invalid credential is
// refused even if none is needed, because the client wants to act as a specific
// principal.
func (p *Policy) Authenticate(r *http.Request) (Principal, *Refusal) {
	near, forwarded := fromHere(r.RemoteAddr), wasForwarded(r)
	who, refused := p.identify(r, near, forwarded)
	who.Here = refused == nil && near && !forwarded
	return who, refused
}

// identify returns the principal of a request. near says that its sender is on this
// machine, forwarded that the sender is a proxy.
func (p *Policy) identify(r *http.Request, near, forwarded bool) (Principal, *Refusal) {
	if credentialInQuery(r.URL.RawQuery) {
		return Principal{}, p.refuse("invalid_request", "do not put credentials into the URL: send Authorization: Bearer")
	}
	shown := r.Header["Authorization"]
	if len(shown) == 0 {
		if p.Required {
			return Principal{}, p.refuse("", "a key or token is needed: send the header Authorization: Bearer KEY; mcp-all-in-one key create NAME makes a key")
		}
		if !near {
			return Principal{}, p.refuse("", "without a key, only clients on this machine may use the gateway: mcp-all-in-one key create NAME makes a key; send it in the header Authorization: Bearer KEY")
		}
		if forwarded {
			return Principal{}, p.refuseForwarded()
		}
		return Anonymous, nil
	}
	token, ok := bearer(shown)
	if !ok {
		return Principal{}, p.refuse("invalid_request", "send the credential in exactly one Authorization: Bearer header")
	}
	if p.Key != "" && sameHash(p.Key, hashKey(token)) {
		return soleKey, nil
	}
	if strings.HasPrefix(token, keyPrefix) {
		if p.Keys != nil {
			if who, ok := p.Keys.find(token); ok {
				return who, nil
			}
		}
		return Principal{}, p.refuse("invalid_token", "the key is unknown, expired or revoked")
	}
	if p.Tokens != nil {
		return p.Tokens.authenticate(r.Context(), token)
	}
	return Principal{}, p.refuse("invalid_token", "the key is unknown, expired or revoked")
}

func (p *Policy) refuse(code, reason string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Challenge: p.Tokens.challenge(code), Reason: reason}
}

// Forwarded refuses a request that came through a proxy if no keys or tokens are
// configured that could tell who sent it. Otherwise it returns nil. It is for
// handlers with their own login.
func (p *Policy) Forwarded(r *http.Request) *Refusal {
	if p.Keys != nil || p.Key != "" || p.Tokens != nil || !wasForwarded(r) {
		return nil
	}
	return p.refuseForwarded()
}

func (p *Policy) refuseForwarded() *Refusal {
	r := p.refuse("", "this request came through a proxy, whose clients may be anywhere, and without a key only clients on this machine may use the gateway: "+
		"create one (mcp-all-in-one key create NAME), set access.keys, and send Authorization: Bearer; or set access.oauth")
	r.Status = http.StatusForbidden
	return r
}

// forwarding are the headers that proxies add, in canonical form, besides those
// that begin with X-Forwarded.
var forwarding = [...]string{"Forwarded", "Via", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "X-Original-Forwarded-For"}

// wasForwarded reports whether a proxy forwarded the request. The remote address
// then says nothing about the sender.
func wasForwarded(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(forwarding[:], name) {
			return true
		}
	}
	return false
}

// bearer parses the one Authorization header: the scheme in any case, one space,
// and a token of the characters that RFC 6750 allows.
func bearer(shown []string) (token string, ok bool) {
	if len(shown) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(shown[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || len(token) > maxCredential {
		return "", false
	}
	body := strings.TrimRight(token, "=")
	if body == "" {
		return "", false
	}
	for i := range len(body) {
		c := body[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~+/", c) >= 0 {
			continue
		}
		return "", false
	}
	return token, true
}

// credentialInQuery reports whether the query has a credential. Clients of other
// gateways put credentials into URLs, which end up in logs and histories.
func credentialInQuery(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		switch strings.ToLower(name) {
		case "access_token", "apikey", "api_key", "api-key", "token", "authorization", "bearer":
			return true
		}
	}
	return false
}

// fromHere reports whether the peer is on this machine. A socket without an
// address is.
func fromHere(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote == "" || remote == "@"
	}
	return at.Addr().Unmap().IsLoopback()
}
