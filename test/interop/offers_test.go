//lint:file-ignore SA1019 what a version deprecates still has to pass through the gateway

package interop

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// TestOffersDecideWhatIsListed: server-everything lists some tools only to a
// client that can be asked. Over HTTP a client of either era sees the same
// tools as without the gateway, and can call them.
func TestOffersDecideWhatIsListed(t *testing.T) {
	t.Parallel()
	for kind, address := range map[string]string{"http": "/mcp", "sse": "/sse"} {
		t.Run("over "+kind, func(t *testing.T) {
			t.Parallel()
			offersDecide(t, fmt.Sprintf(`{"type":%q,"url":%q}`, kind, everythingAt(t, kind)+address))
		})
	}
}

func offersDecide(t *testing.T, entry string) {
	needs := []string{"trigger-sampling-request", "trigger-elicitation-request", "get-roots-list"}
	for _, version := range []string{ours.LatestLegacy, ours.LatestModern} {
		endpoint := mcptest.Gateway(t, config("everything", entry)).URL + "/mcp"
		transport := &mcp.StreamableClientTransport{Endpoint: endpoint}
		t.Run("true/3 "+version+" client that can be asked nothing", func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "quiet", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if names := listed(t, session); slices.ContainsFunc(needs, func(name string) bool { return slices.Contains(names, "everything__"+name) }) {
				t.Errorf("it is shown %q", names)
			}
		})
		t.Run("true/3 "+version+" client that can be asked", func(t *testing.T) {
			c := connectGo(t, version, transport)
			names := listed(t, c.ClientSession)
			for _, name := range needs {
				if !slices.Contains(names, "everything__"+name) {
					t.Errorf("it is not shown %s: %q", name, names)
				}
			}
			if text, failed := c.call(t, "everything__trigger-sampling-request", map[string]any{"prompt": "really?"}); failed || !strings.Contains(text, "yes") {
				t.Errorf("the call of a tool that asks: %s", text)
			}
		})
		t.Run("true/3 "+version+" client that calls without a list", func(t *testing.T) {
			other := mcptest.Gateway(t, config("everything", entry)).URL + "/mcp"
			c := connectGo(t, version, &mcp.StreamableClientTransport{Endpoint: other})
			if text, failed := c.call(t, "everything__trigger-sampling-request", map[string]any{"prompt": "really?"}); failed || !strings.Contains(text, "yes") {
				t.Errorf("%s", text)
			}
		})
	}
}

func listed(t *testing.T, session *mcp.ClientSession) []string {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// everythingOverHTTP starts the published server and returns its address.
func everythingOverHTTP(t *testing.T) string { return everythingAt(t, "http") + "/mcp" }

// everythingAt starts the published server over http or sse and returns its host.
func everythingAt(t *testing.T, kind string) string {
	t.Helper()
	port := mcptest.FreePort(t)
	address := "127.0.0.1:" + port
	cmd := exec.Command(node(t), npmServer("server-everything"), map[string]string{"http": "streamableHttp", "sse": "sse"}[kind])
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	accepts(t, address)
	return "http://" + address
}

// accepts waits until a port of this machine accepts connections.
func accepts(t *testing.T, address string) {
	t.Helper()
	late, tick := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal(err)
		}
	}
}

// TestRootsOfEachClient: server-everything asks for the roots a moment after the
// handshake, outside any call, and keeps them. Each client of either era still
// gets its own, in any order.
func TestRootsOfEachClient(t *testing.T) {
	t.Parallel()
	connect := func(t *testing.T, version, root, endpoint string) *goClient {
		client := mcp.NewClient(&mcp.Implementation{Name: root, Version: "1"}, nil)
		client.AddRoots(&mcp.Root{URI: "file:///" + root, Name: root})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		return &goClient{ClientSession: session}
	}
	own := func(t *testing.T, c *goClient, root string) {
		t.Helper()
		if text, failed := c.call(t, "everything__get-roots-list", nil); failed || !strings.Contains(text, "file:///"+root) {
			t.Errorf("%s is told: %s", root, text)
		}
	}
	stdio := config("everything", entry(node(t), npmServer("server-everything")))
	t.Run("true/3 on stdio, a client that came before the question", func(t *testing.T) {
		g := mcptest.Gateway(t, stdio)
		c := connect(t, ours.LatestLegacy, "first", g.URL+"/mcp")
		listed(t, c.ClientSession)
		g.Says("server asks its clients")
		own(t, c, "first")
	})
	for name, servers := range map[string]string{"on stdio": stdio, "over HTTP": config("everything", fmt.Sprintf(`{"url":%q}`, everythingOverHTTP(t)))} {
		t.Run("true/3 "+name+", in turns", func(t *testing.T) {
			g := mcptest.Gateway(t, servers)
			clients := make(map[string]*goClient)
			for _, root := range []string{"new-a", "new-b", "new-a", "old-a", "new-b", "old-b", "new-a", "old-a"} {
				if clients[root] == nil {
					version := map[bool]string{true: ours.LatestModern, false: ours.LatestLegacy}[strings.HasPrefix(root, "new")]
					clients[root] = connect(t, version, root, g.URL+"/mcp")
				}
				own(t, clients[root], root)
			}
		})
	}
}
