package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
)

const gatewayURL = "https://gw.example/mcp"

// An issuer is an authorization server with real keys that signs any claims.
type issuer struct {
	*httptest.Server
	rsa, rsa2 *rsa.PrivateKey
	ec        *ecdsa.PrivateKey
	mu        sync.Mutex
	published []any
	metadata  map[string]any // replaces the correct metadata
	fetches   atomic.Int32   // how often the keys were fetched
}

// rsaKeys are the keys rsa and rsa2 of every issuer: making one takes a second
// with the race detector.
var rsaKeys = sync.OnceValues(func() (keys [2]*rsa.PrivateKey, err error) {
	for i := range keys {
		if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			return keys, err
		}
	}
	return keys, nil
})

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	keys, err := rsaKeys()
	if err != nil {
		t.Fatal(err)
	}
	is := &issuer{rsa: keys[0], rsa2: keys[1]}
	if is.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	is.publish(rsaJWK("r1", &is.rsa.PublicKey), ecJWK("e1", &is.ec.PublicKey))
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		doc := map[string]any{"issuer": is.URL, "jwks_uri": is.URL + "/keys"}
		is.mu.Lock()
		maps.Copy(doc, is.metadata)
		is.mu.Unlock()
		_ = json.NewEncoder(w).Encode(doc)
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		is.fetches.Add(1)
		is.mu.Lock()
		defer is.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": is.published})
	})
	is.Server = httptest.NewServer(mux)
	t.Cleanup(is.Close)
	return is
}

func (is *issuer) publish(keys ...any) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.published = keys
}

func rsaJWK(kid string, k *rsa.PublicKey) any {
	return map[string]string{"kty": "RSA", "use": "sig", "kid": kid, "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes())}
}

func ecJWK(kid string, k *ecdsa.PublicKey) any {
	point, _ := k.Bytes()
	return map[string]string{"kty": "EC", "crv": "P-256", "use": "sig", "kid": kid, "x": b64(point[1:33]), "y": b64(point[33:])}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// claims returns the claims of a valid token, changed by edit; a nil value removes
// a claim.
func (is *issuer) claims(edit map[string]any) map[string]any {
	now := time.Now().Unix()
	all := map[string]any{"iss": is.URL, "sub": "alice", "aud": gatewayURL, "iat": now, "exp": now + 300, "scope": "mcp other"}
	for name, value := range edit {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	return all
}

// sign returns a JWT signed with the key for alg. header is added to its header.
func (is *issuer) sign(t *testing.T, alg string, header, claims map[string]any) string {
	t.Helper()
	head := map[string]any{"alg": alg, "typ": "at+jwt", "kid": map[string]string{"RS256": "r1", "ES256": "e1", "HS256": "r1"}[alg]}
	maps.Copy(head, header)
	maps.DeleteFunc(head, func(_ string, v any) bool { return v == nil || v == "" })
	h, _ := json.Marshal(head)
	c, _ := json.Marshal(claims)
	input := b64(h) + "." + b64(c)
	return input + "." + b64(is.signature(t, alg, input))
}

func (is *issuer) signature(t *testing.T, alg, input string) []byte {
	t.Helper()
	digest := sha256.Sum256([]byte(input))
	switch alg {
	case "RS256":
		sig, err := rsa.SignPKCS1v15(rand.Reader, is.rsa, crypto.SHA256, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return sig
	case "ES256":
		r, s, err := ecdsa.Sign(rand.Reader, is.ec, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case "HS256": // with the public key as the secret
		der, err := x509.MarshalPKIXPublicKey(&is.rsa.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		fmt.Fprint(mac, input)
		return mac.Sum(nil)
	}
	return nil
}

func (is *issuer) resourceServer(t *testing.T, edit func(*config.OAuth)) *ResourceServer {
	t.Helper()
	conf := config.OAuth{Issuer: is.URL, Resource: gatewayURL, Scopes: []string{"mcp"}, AdminScope: "mcp:admin"}
	if edit != nil {
		edit(&conf)
	}
	rs, err := NewResourceServer(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}
