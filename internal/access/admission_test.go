package access_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
)

func request(key string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.RemoteAddr = "127.0.0.1:1"
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r
}

func TestAdmission(t *testing.T) {
	keys, err := access.OpenKeys(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	mine, _, err := keys.Create("mine", access.Grant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(300 * time.Millisecond)
	brief, _, err := keys.Create("brief", access.Grant{}, &soon)
	if err != nil {
		t.Fatal(err)
	}
	policy := &access.Policy{Keys: keys}
	admit := func(key string) access.Admission {
		t.Helper()
		edition := policy.Edition()
		who, refused := policy.Authenticate(request(key))
		if refused != nil {
			t.Fatal(refused)
		}
		a, ok := policy.Admission(request(key), who, edition)
		if !ok || !a.Holds() {
			t.Fatalf("%q: a request like one that was just let in is not", key)
		}
		return a
	}
	nobody, expiring := admit(""), admit(brief)
	for end := time.Now().Add(20 * time.Second); expiring.Holds(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("an expired key holds")
		}
	}
	if time.Now().Before(soon) {
		t.Error("a key expired early")
	}
	stays := admit(mine)
	if _, err := keys.Revoke("mine"); err != nil {
		t.Fatal(err)
	}
	if stays.Holds() {
		t.Error("a revoked key holds")
	}
	if !nobody.Holds() {
		t.Error("who shows no key depends on keys")
	}
	// A key that is revoked while its request is looked at: what was known
	// before counts.
	other, _, err := keys.Create("other", access.Grant{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := policy.Edition()
	who, _ := policy.Authenticate(request(other))
	if _, err := keys.Revoke("other"); err != nil {
		t.Fatal(err)
	}
	if a, _ := policy.Admission(request(other), who, before); a.Holds() {
		t.Error("a key that was revoked meanwhile holds")
	}
}

func TestAdmissionOfTokens(t *testing.T) {
	policy := &access.Policy{Tokens: &access.ResourceServer{}}
	if _, ok := policy.Admission(request("some.jwt.token"), access.Principal{ID: "token:x"}, 0); ok {
		t.Error("tokens of others have to be looked at each time")
	}
}
