package access

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/safehttp"
)

// An issuer names the address of its keys, and may redirect. Neither may lead to a
// private address.
func TestIssuerLeadsNowherePrivate(t *testing.T) {
	canary := mcptest.NewCanary(t)
	var keys, to string
	as := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": "http://" + r.Host, "jwks_uri": keys})
	}))
	as.Listener.Close()
	as.Listener = mcptest.ListenElsewhere(t)
	as.Start()
	t.Cleanup(as.Close)
	fetch := safehttp.NewClient(safehttp.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	t.Cleanup(fetch.CloseIdleConnections)
	token := newIssuer(t).sign(t, "RS256", nil, map[string]any{"iss": as.URL, "sub": "x", "aud": gatewayURL, "exp": 4e9})
	verify := func(jwks string) error {
		rs, err := NewResourceServer(config.OAuth{Issuer: as.URL, JWKS: jwks, Resource: gatewayURL}, fetch)
		if err != nil {
			return err
		}
		_, err = rs.keys.VerifySignature(t.Context(), token)
		return err
	}
	for _, form := range canary.Forms {
		keys, to = form, ""
		if verify("") == nil {
			t.Errorf("fault/T27: keys came from %q", form)
		}
		if form == "" {
			continue
		}
		to = form
		if verify("") == nil {
			t.Errorf("fault/T27: metadata came from %q", form)
		}
		if verify(as.URL+"/keys") == nil {
			t.Errorf("fault/T27: a redirect led to keys at %q", form)
		}
	}
}
