//lint:file-ignore SA1019 what a version deprecates still has to pass through the gateway

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	wire "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// bearer sends a key with each request.
type bearer string

func (key bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

// enter enters a value on the page to which a user was led.
func enter(ctx context.Context, page, value string) error {
	form := neturl.Values{"value": {value}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, page, strings.NewReader(form))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", req.URL.Scheme+"://"+req.URL.Host)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", page, resp.Status)
	}
	return nil
}

// TestValuesOfUsers gives each user a value of the published memory server, which
// has it in its environment, and of a FastMCP server, which has it in a header. One
// user sets the values with the command, the others are led to the page by the
// official client.
func TestValuesOfUsers(t *testing.T) {
	t.Parallel()
	url := mcptest.Start(t, fastmcp(t, "http")).Listening() + "/mcp"
	h := newHome(t, patient(config(
		"memory", with(entry(node(t), npmServer("server-memory")), "perUser", `{"graph":{"env":"MEMORY_FILE_PATH","description":"the file of your graph"}}`),
		"fast", fmt.Sprintf(`{"url":%q,"perUser":{"token":{"header":"X-Token","prefix":"Token ","description":"your token"}}}`, url),
	)))
	keys, values := make(map[string]string), make(map[string]map[string]string)
	for _, user := range []string{"ann", "bob", "eve"} {
		var key struct{ Key, ID string }
		if out := h.run("", "key", "create", user, "--json"); json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &key) != nil {
			t.Fatalf("key create: %s", out)
		}
		keys[user] = key.Key
		values[user] = map[string]string{"graph": filepath.Join(t.TempDir(), user+".json"), "token": "token-of-" + user}
		if user == "eve" {
			for name, value := range values[user] {
				h.run(value+"\n", "secret", "set", name, "--user", "key:"+key.ID)
			}
		}
	}
	h.serve()
	// visit enters the value for which the user is asked.
	named := map[string]string{"the file of your graph": "graph", "your token": "token"}
	visit := func(ctx context.Context, user, message, page string) error {
		for description, name := range named {
			if strings.Contains(message, description) {
				return enter(ctx, page, values[user][name])
			}
		}
		return fmt.Errorf("%q asks for nothing that is known", message)
	}
	for user, version := range map[string]string{"ann": ours.LatestModern, "bob": ours.LatestLegacy, "eve": ours.LatestLegacy} {
		t.Run("true/perUser "+user+", "+version, func(t *testing.T) {
			options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
			if user != "eve" {
				options.Capabilities.Elicitation = &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}
				options.ElicitationHandler = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept"}, visit(ctx, user, r.Params.Message, r.Params.URL)
				}
			}
			client := mcp.NewClient(&mcp.Implementation{Name: user, Version: "1"}, options)
			transport := &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(keys[user])}}
			session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { session.Close() })
			// The SDK does not follow the error that leads a legacy client to the page.
			call := func(tool string, arguments map[string]any) string {
				t.Helper()
				for range 2 {
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
					var refused *wire.Error
					if errors.As(err, &refused) && refused.Code == mcp.CodeURLElicitationRequired {
						var data struct{ Elicitations []*mcp.ElicitParams }
						if err := json.Unmarshal(refused.Data, &data); err != nil || len(data.Elicitations) != 1 {
							t.Fatalf("%s: %v", refused.Data, err)
						}
						if err := visit(t.Context(), user, data.Elicitations[0].Message, data.Elicitations[0].URL); err != nil {
							t.Fatal(err)
						}
						continue
					}
					if err != nil || result.IsError {
						t.Fatalf("%s: %v, %+v", tool, err, result)
					}
					return result.Content[0].(*mcp.TextContent).Text
				}
				t.Fatalf("%s asks again for what it has", tool)
				return ""
			}
			if got := call("fast__header", map[string]any{"name": "x-token"}); got != "Token "+values[user]["token"] {
				t.Errorf("the server got %q", got)
			}
			call("memory__create_entities", map[string]any{"entities": []any{map[string]any{"name": user, "entityType": "person", "observations": []string{}}}})
			if text, err := os.ReadFile(values[user]["graph"]); err != nil || !strings.Contains(string(text), user) {
				t.Errorf("the graph of %s: %s, %v", user, text, err)
			}
		})
	}
	for user := range values {
		for other := range values {
			if text, err := os.ReadFile(values[user]["graph"]); other != user && (err != nil || strings.Contains(string(text), other)) {
				t.Errorf("the graph of %s has %s: %s, %v", user, other, text, err)
			}
		}
	}
}

// TestProjectsOfClients: with share: project, clients of either era have a process
// of the published filesystem server for each of their projects, which may read it
// alone.
func TestProjectsOfClients(t *testing.T) {
	t.Parallel()
	endpoint := mcptest.Gateway(t, patient(config("files", with(entry(node(t), npmServer("server-filesystem"), t.TempDir()), "share", `"project"`)))).URL + "/mcp"
	allowed := regexp.MustCompile(`(?m)^/.*$`)
	for _, version := range []string{ours.LatestLegacy, ours.LatestModern} {
		t.Run("true/project "+version, func(t *testing.T) {
			for range 2 {
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				client := mcp.NewClient(&mcp.Implementation{Name: "projects", Version: "1"}, nil)
				client.AddRoots(&mcp.Root{URI: "file://" + dir, Name: "project"})
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { session.Close() })
				c := &goClient{ClientSession: session}
				// The server asks for the roots after the handshake, beside calls.
				for late := time.After(time.Minute); ; {
					text := textOf(t, c, "files__list_allowed_directories", nil)
					if slices.Equal(allowed.FindAllString(text, -1), []string{dir}) {
						break
					}
					select {
					case <-late:
						t.Fatalf("the project is %s; allowed is %s", dir, text)
					case <-time.After(50 * time.Millisecond):
					}
				}
			}
		})
	}
}

// TestArgumentsOfTools: a published server gets the arguments that the
// configuration fixes and defaults, and its clients do not see those that are not
// theirs.
func TestArgumentsOfTools(t *testing.T) {
	t.Parallel()
	tools := `{"echo":{"arguments":{"message":{"value":"fixed"}}},"get-sum":{"arguments":{"b":{"default":40}}},"get-annotated-message":{"arguments":{"includeImage":{"hidden":true}}}}`
	endpoint := mcptest.Gateway(t, patient(config("everything", with(entry(node(t), npmServer("server-everything")), "tools", tools)))).URL + "/mcp"
	for _, version := range []string{ours.LatestLegacy, ours.LatestModern} {
		t.Run("true/arguments "+version, func(t *testing.T) {
			c := connectGo(t, version, &mcp.StreamableClientTransport{Endpoint: endpoint})
			for tool, err := range c.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				schema, err := json.Marshal(tool.InputSchema)
				if err != nil {
					t.Fatal(err)
				}
				for name, argument := range map[string]string{"everything__echo": `"message"`, "everything__get-annotated-message": `"includeImage"`} {
					if tool.Name == name && strings.Contains(string(schema), argument) {
						t.Errorf("%s shows %s: %s", name, argument, schema)
					}
				}
				if tool.Name == "everything__get-sum" && (!strings.Contains(string(schema), `40`) || strings.Contains(string(schema), `"required":["a","b"]`)) {
					t.Errorf("the default is not shown: %s", schema)
				}
			}
			c.expect(t, "everything__echo", nil, "Echo: fixed")
			c.expect(t, "everything__get-sum", map[string]any{"a": 2}, "The sum of 2 and 40 is 42.")
			c.expect(t, "everything__get-sum", map[string]any{"a": 2, "b": 3}, "The sum of 2 and 3 is 5.")
			for tool, arguments := range map[string]map[string]any{
				"everything__echo":                  {"message": "mine"},
				"everything__get-annotated-message": {"messageType": "error", "includeImage": true},
			} {
				if text, failed := c.call(t, tool, arguments); !failed {
					t.Errorf("%s with an argument that is not the client's: %s", tool, text)
				}
			}
		})
	}
}
