package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcp-all-in-one/internal/mcptest"
)

// A shared gateway, and the person who confirms its clients.
type shared struct {
	url, binary, config string
	env                 []string
}

func startShared(t *testing.T, trust string) *shared {
	t.Helper()
	dir, port := t.TempDir(), mcptest.FreePort(t)
	s := &shared{url: "http://127.0.0.1:" + port, binary: mcptest.BuildProduct(t), config: filepath.Join(dir, "mcp.json"),
		env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=" + dir, "MCP_AIO_LANG=en", "SSL_CERT_FILE=" + trust}}
	demo := fmt.Sprintf(`{"demo":{"command":%q,"args":["demo"]}}`, s.binary)
	content := fmt.Sprintf(`{"server":{"port":%s},"access":{"keys":"keys.json","share":{"url":%q}},"schemas":{"default":{"mcpServers":%s},"private":{"mcpServers":%s}}}`, port, s.url, demo, demo)
	if err := os.WriteFile(s.config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	mcptest.Start(t, mcptest.Program{Path: s.binary, Args: []string{"http", "-c", s.config}, Env: s.env}).Listening()
	return s
}

// run runs a command of the person.
func (s *shared) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.binary, append(args, "-c", s.config)...)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

var codeOnPage = regexp.MustCompile(`<output>(\d{3}) (\d{3})</output>`)

// browse opens the page of a client as a browser that another site leads there,
// confirms it, and returns the address to which the browser is sent.
func (s *shared) browse(t *testing.T, address string) string {
	t.Helper()
	var sent string
	c := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), s.url) {
			return nil
		}
		sent = r.URL.String()
		return http.ErrUseLastResponse
	}}
	at, confirmed := address, false
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		req.Header.Set("Sec-Fetch-Mode", "navigate")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if sent != "" {
			return sent
		}
		code := codeOnPage.FindSubmatch(body)
		if code == nil {
			t.Fatalf("%s: %s\n%s", at, resp.Status, body)
		}
		if at = resp.Request.URL.String(); !confirmed {
			confirmed = s.confirm(t, string(code[1])+string(code[2]))
		}
	}
	t.Fatal("the browser was not sent back")
	return ""
}

// confirm enters the code where a person does; false if the question is not
// there yet.
func (s *shared) confirm(t *testing.T, code string) bool {
	t.Helper()
	var list struct {
		Questions []struct{ ID, Kind string }
	}
	if err := json.Unmarshal([]byte(s.run(t, "inbox", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, q := range list.Questions {
		if q.Kind == "share" {
			s.run(t, "inbox", "answer", q.ID, "code="+code)
			return true
		}
	}
	return false
}

// TestShareGo signs in with the official Go client: with a client ID metadata
// document, and with dynamic registration.
func TestShareGo(t *testing.T) {
	t.Parallel()
	const back = "http://127.0.0.1:33418/callback"
	document := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": "https://" + r.Host + r.URL.Path, "client_name": "Go client", "redirect_uris": []string{back}, "token_endpoint_auth_method": "none"})
	}))
	defer document.Close()
	trust := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trust, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: document.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startShared(t, trust)
	for name, conf := range map[string]*auth.AuthorizationCodeHandlerConfig{
		"document":     {ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: document.URL + "/client.json"}},
		"registration": {DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "Go client", RedirectURIs: []string{back}}}},
	} {
		t.Run("get/share go "+name, func(t *testing.T) {
			conf.RedirectURL = back
			conf.AuthorizationCodeFetcher = func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				sent, err := url.Parse(s.browse(t, args.URL))
				if err != nil {
					return nil, err
				}
				q := sent.Query()
				if q.Get("error") != "" {
					return nil, errors.New(q.Get("error"))
				}
				return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
			}
			handler, err := auth.NewAuthorizationCodeHandler(conf)
			if err != nil {
				t.Fatal(err)
			}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "go-interop", Version: "1.0.0"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", OAuthHandler: handler}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "demo__add", Arguments: map[string]any{"a": 19, "b": 23}}); err != nil || r.IsError {
				t.Errorf("a tool that only reads: %+v, %v", r, err)
			}
			if r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "demo__echo", Arguments: map[string]any{"message": "hi"}}); err == nil && !r.IsError {
				t.Errorf("a tool that is not read-only: %+v", r)
			}
			source, err := handler.TokenSource(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			token, err := source.Token()
			if err != nil {
				t.Fatal(err)
			}
			s.checkBounds(t, token.AccessToken)
		})
	}
	if keys := s.run(t, "key", "list"); strings.Count(keys, "share: 127.0.0.1 ") != 2 {
		t.Errorf("get/share the keys:\n%s", keys)
	}
}

// checkBounds checks that a token opens one schema, and nothing of the console.
func (s *shared) checkBounds(t *testing.T, token string) {
	t.Helper()
	for path, want := range map[string]bool{"/mcp": true, "/api/private/mcp": false, "/api/v1/config": false, "/metrics": false} {
		body := io.Reader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		method := http.MethodPost
		if !strings.HasSuffix(path, "/mcp") {
			method, body = http.MethodGet, nil
		}
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if (resp.StatusCode == http.StatusOK) != want {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
}

// TestShareTypeScript signs in with both official TypeScript clients.
func TestShareTypeScript(t *testing.T) {
	t.Parallel()
	s := startShared(t, "")
	for _, era := range []string{"legacy", "modern"} {
		t.Run("get/share typescript "+era, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, node(t), script(t, "share_client.mjs"), era, s.url+"/mcp")
			cmd.Stderr = &logWriter{t}
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() {
				t.Fatal("it opens no page")
			}
			if _, err := fmt.Fprintln(in, s.browse(t, lines.Text())); err != nil {
				t.Fatal(err)
			}
			var got struct {
				Tools            []string
				Scope, Add, Echo string
			}
			if !lines.Scan() {
				t.Fatal("it does not sign in")
			}
			if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if got.Scope != "schema:default readonly" || !strings.Contains(got.Add, "42") || !slices.Contains(got.Tools, "demo__add") || strings.Contains(got.Echo, "hi") {
				t.Errorf("%+v", got)
			}
		})
	}
}
