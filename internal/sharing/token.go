package sharing

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
)

// token exchanges a code for a key. A code counts once: when it is shown again,
// one of the two who have it is a thief, and the key ends.
func (s *Server) token(w http.ResponseWriter, r *http.Request, conf config.Sharing) {
	if err := r.ParseForm(); err != nil || repeats(r.PostForm) {
		refuse(w, "invalid_request", "the form cannot be read")
		return
	}
	f := r.PostForm
	if f.Get("grant_type") != "authorization_code" {
		refuse(w, "unsupported_grant_type", "grant_type must be authorization_code")
		return
	}
	s.exchange.Lock() // a code that is shown again meanwhile finds the key that it revokes
	defer s.exchange.Unlock()
	keys := s.policy().Keys
	a := s.take(f.Get("code"))
	hash := sha256.Sum256([]byte(f.Get("code_verifier")))
	switch resource, redirect := f.Get("resource"), f.Get("redirect_uri"); {
	case a == nil || keys == nil:
		refuse(w, "invalid_grant", "the code is unknown, or too old")
		return
	case a.key != "":
		s.log.Warn("a code was shown twice, so its key is revoked", "host", a.host(), "key", a.key)
		if _, err := keys.Revoke(a.key); err != nil {
			s.log.Error("the key was not revoked", "key", a.key, "err", err)
		}
		refuse(w, "invalid_grant", "the code was used before")
		return
	case clientOf(r) != a.client.ID, redirect != "" && redirect != a.redirect,
		subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(hash[:])), []byte(a.challenge)) != 1:
		refuse(w, "invalid_grant", "the code belongs to another request")
		return
	case resource != "" && !sameResource(resource, a.conf):
		refuse(w, "invalid_target", "tokens are for "+a.conf.Resource())
		return
	case conf != a.conf:
		refuse(w, "invalid_grant", "what is shared has changed since the person confirmed")
		return
	}
	life := time.Duration(a.conf.Days) * 24 * time.Hour
	expires := time.Now().Add(life).UTC().Truncate(time.Second)
	plain, key, err := keys.Create("share: "+a.host()+" "+rand.Text()[:4], grantOf(a.conf), &expires)
	if err != nil {
		s.log.Error("no key was made for a client", "host", a.host(), "err", err)
		answer(w, http.StatusInternalServerError, map[string]string{"error": "server_error"})
		return
	}
	s.mu.Lock()
	a.key, a.expires = key.ID, time.Now().Add(codeLife) // who comes late ends the key, too
	s.codes[f.Get("code")] = a
	s.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{
		"access_token": plain, "token_type": "Bearer", "expires_in": int(life.Seconds()), "scope": strings.Join(grantOf(a.conf).Scopes(), " "),
	})
}

// clientOf returns the id of the client that sends a form. Some clients put it
// into the header for secrets, although they have none (RFC 6749, section 2.3.1).
func clientOf(r *http.Request) string {
	id, _, basic := r.BasicAuth()
	if basic && !r.PostForm.Has("client_id") {
		id, _ = url.QueryUnescape(id) // what cannot be read is no id
		return id
	}
	return r.PostForm.Get("client_id")
}

// take returns the attempt of a code, which then counts no more.
func (s *Server) take(code string) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweepLocked()
	a := s.codes[code]
	delete(s.codes, code)
	return a
}
