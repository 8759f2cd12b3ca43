package mcptest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// Base64URL encodes as JSON Web Tokens do.
func Base64URL(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// SignToken returns an access token with the claims, a JWT of the key k1.
func SignToken(key *ecdsa.PrivateKey, claims map[string]any) string {
	head, _ := json.Marshal(map[string]string{"alg": "ES256", "typ": "at+jwt", "kid": "k1"})
	body, _ := json.Marshal(claims)
	input := Base64URL(head) + "." + Base64URL(body)
	sum := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		panic(err)
	}
	return input + "." + Base64URL(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// KeySet returns the key set with which tokens of SignToken are verified.
func KeySet(key *ecdsa.PrivateKey) map[string]any {
	point, _ := key.PublicKey.Bytes()
	return map[string]any{"keys": []any{map[string]string{
		"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "k1", "x": Base64URL(point[1:33]), "y": Base64URL(point[33:]),
	}}}
}
