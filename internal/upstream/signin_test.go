package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/upstream"
)

// A lockedServer is a server of the official SDK that requires tokens. Its one tool
// returns the user of the token. It is its own token endpoint, which refuses every
// refresh.
type lockedServer struct {
	*httptest.Server
	mu      sync.Mutex
	good    map[string]string // user by token
	narrow  map[string]bool   // tokens that lack a scope
	headers []string
}

func newLockedServer(t *testing.T) *lockedServer {
	t.Helper()
	ls := &lockedServer{good: map[string]string{}, narrow: map[string]bool{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "locked", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "whoami"}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		who := req.Extra.TokenInfo.UserID
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: who}}}, nil, nil
	})
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	guarded := auth.RequireBearerToken(ls.verify, &auth.RequireBearerTokenOptions{Scopes: []string{"use"}})(inner)
	ls.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		ls.mu.Lock()
		ls.headers = append(ls.headers, fmt.Sprint(r.Header))
		ls.mu.Unlock()
		guarded.ServeHTTP(w, r)
	}))
	t.Cleanup(ls.Close)
	return ls
}

func (ls *lockedServer) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	user, ok := ls.good[token]
	if !ok {
		return nil, auth.ErrInvalidToken
	}
	info := &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour), Scopes: []string{"use"}}
	if ls.narrow[token] {
		info.Scopes = nil
	}
	return info, nil
}

func (ls *lockedServer) set(change func()) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	change()
}

// signIn writes a grant like auth login in another process.
func (ls *lockedServer) signIn(t *testing.T, dir, user, token string) {
	t.Helper()
	ls.set(func() { ls.good[token] = user })
	text := must.JSON(t, map[string]any{
		"server": "default/hub", "user": user, "url": ls.URL, "issuer": ls.URL, "resource": ls.URL, "tokenUrl": ls.URL + "/token",
		"client": map[string]any{"id": "c"}, "access": token, "refresh": "r", "obtained": time.Now(),
	})
	must.OK(t, secrets.NewFileStore(dir).Set("grant-"+token, string(text)))
	must.Write(t, filepath.Join(dir, "tokens.changed"), token)
}

func (ls *lockedServer) world(t *testing.T, dir string, edit func(*config.Server)) *world {
	t.Helper()
	var w *world
	keeper := oauth.NewKeeper(context.Background(), oauth.Options{Dir: dir, OnSignIn: func() { w.up("hub").SignedIn() }})
	t.Cleanup(keeper.Close)
	entry := remote("hub", ls.URL)
	if edit != nil {
		edit(entry)
	}
	w = newWorld(t, worldOptions{tokens: keeper}, entry)
	return w
}

func TestSignIn(t *testing.T) {
	ls := newLockedServer(t)
	dir := t.TempDir()
	w := ls.world(t, dir, nil)
	s := w.state("hub", upstream.SignIn)
	if s.Reason.String() != "sign in: mcp-all-in-one auth login hub" {
		t.Errorf("reason %q", s.Reason)
	}
	ls.signIn(t, dir, "", "token-1")
	w.state("hub", upstream.Ready)
	if text, reason := w.call("hub", "whoami", "{}"); reason != "" {
		t.Errorf("%q, %s", text, reason)
	}

	// The token is not valid any more, and no other can be obtained.
	ls.set(func() { clear(ls.good) })
	err := whoami(t, w, legacyCaller())
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInternal || !strings.Contains(wire.Message, "sign in again") {
		t.Fatalf("error %v", err)
	}
	if status := jsonrpc.Get(wire.Data, "status"); string(status) != "401" {
		t.Errorf("req/C-20: data %s", wire.Data)
	}
	if s := w.state("hub", upstream.SignIn); s.Reason.String() != "sign in again: mcp-all-in-one auth login hub" {
		t.Errorf("reason %q", s.Reason)
	}
	ls.signIn(t, dir, "", "token-2")
	w.state("hub", upstream.Ready)
	if err := whoami(t, w, legacyCaller()); err != nil {
		t.Errorf("after signing in again: %v", err)
	}
}

// A token that lacks a scope makes the call fail, but not the server.
func TestStepUp(t *testing.T) {
	ls := newLockedServer(t)
	dir := t.TempDir()
	ls.signIn(t, dir, "", "token-1")
	w := ls.world(t, dir, nil)
	w.state("hub", upstream.Ready)
	ls.set(func() { ls.narrow["token-1"] = true })
	err := whoami(t, w, legacyCaller())
	if err == nil || !strings.Contains(err.Error(), "sign in again to grant use") {
		t.Errorf("error %v", err)
	}
	ls.set(func() { clear(ls.narrow) })
	if err := whoami(t, w, legacyCaller()); err != nil {
		t.Errorf("the server is gone: %v", err)
	}
}

func TestPerUser(t *testing.T) {
	ls := newLockedServer(t)
	dir := t.TempDir()
	ls.signIn(t, dir, "key:ann", "token-ann")
	ls.signIn(t, dir, "key:bob", "token-bob")
	w := ls.world(t, dir, func(s *config.Server) { s.Auth.PerUser = true })
	w.state("hub", upstream.SignIn) // there is no sign-in for the gateway itself
	for _, user := range []string{"key:ann", "key:bob"} {
		caller := &upstream.Caller{Session: "s-" + user, Principal: user, Version: mcp.LatestLegacy}
		w.up("hub").Prepare(t.Context(), caller)
		if f := w.up("hub").Features(caller); f == nil || len(f.Tools) != 1 {
			t.Errorf("%s sees %v", user, f)
		}
		if text, reason := w.callAs(t.Context(), caller, "hub", "whoami", "{}"); text != user {
			t.Errorf("%s is %q there (%s)", user, text, reason)
		}
	}
	stranger := &upstream.Caller{Session: "3", Principal: "key:eve", Version: mcp.LatestLegacy}
	if err := whoami(t, w, stranger); err == nil || !strings.Contains(err.Error(), "auth login hub --user key:eve") {
		t.Errorf("error %v", err)
	}
}

// A server that speaks only the modern era gets the token of the user, whether or
// not it admits the gateway itself.
func TestPerUserOfModernServer(t *testing.T) {
	for name, open := range map[string]bool{"open to the gateway": true, "closed to the gateway": false} {
		t.Run(name, func(t *testing.T) {
			demo := mcpserver.Demo()
			demo.Versions = mcpserver.ModernVersions
			inner, stop := demo.HTTP("")
			t.Cleanup(stop)
			var mu sync.Mutex
			var callers []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				token := r.Header.Get("Authorization")
				if !open && token == "" {
					w.Header().Set("WWW-Authenticate", "Bearer")
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				if r.Header.Get("Mcp-Method") == mcp.MethodToolsCall {
					mu.Lock()
					callers = append(callers, token)
					mu.Unlock()
				}
				inner.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			ls := &lockedServer{Server: server, good: map[string]string{}}
			ls.Server.URL += "/mcp"
			dir := t.TempDir()
			ls.signIn(t, dir, "key:ann", "token-ann")
			ls.signIn(t, dir, "key:bob", "token-bob")
			w := ls.world(t, dir, func(s *config.Server) { s.Auth.PerUser = true })
			for _, user := range []string{"key:ann", "key:bob"} {
				for _, c := range []*upstream.Caller{
					{Session: "s-" + user, Principal: user, Version: mcp.LatestLegacy},
					{Session: "r-" + user, Principal: user, Version: mcp.LatestLegacy, Offer: mcp.Offer{Roots: true}},
					{Principal: user, Version: mcp.LatestModern, Era: mcp.Modern},
				} {
					w.echoAs(c, "hub")
				}
			}
			mu.Lock()
			defer mu.Unlock()
			want := []string{"Bearer token-ann", "Bearer token-ann", "Bearer token-ann", "Bearer token-bob", "Bearer token-bob", "Bearer token-bob"}
			if !slices.Equal(callers, want) {
				t.Errorf("calls came with %q", callers)
			}
		})
	}
}

// The token of a client is not passed on to a server, nor is the token for one
// server to another.
func TestNoTokenIsPassedOn(t *testing.T) {
	ls := newLockedServer(t)
	dir := t.TempDir()
	ls.signIn(t, dir, "", "token-1")
	w := ls.world(t, dir, nil)
	w.state("hub", upstream.Ready)
	must.OK(t, whoami(t, w, legacyCaller()))
	t.Run("corpus/A14", func(t *testing.T) {
		ls.mu.Lock()
		defer ls.mu.Unlock()
		if !slices.ContainsFunc(ls.headers, func(h string) bool { return strings.Contains(h, "Bearer token-1") }) {
			t.Error("our own token did not arrive")
		}
		for _, h := range ls.headers {
			if strings.Contains(h, "Cookie") || strings.Contains(h, "X-Api-Key") || strings.Contains(h, "Proxy-") {
				t.Errorf("sent %s", h)
			}
		}
	})
}

func whoami(t *testing.T, w *world, c *upstream.Caller) error {
	t.Helper()
	resp, err := w.up("hub").Call(t.Context(), c, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"whoami","arguments":{}}`)})
	if err == nil && resp.Err != nil {
		err = resp.Err
	}
	return err
}
