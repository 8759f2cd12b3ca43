package interop

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest"
)

// An app is the interface of a tool, as a host saw it.
type app struct {
	Tool, URI, Read, MIMEType string
	Same, Listed, Failed      bool
}

// TestAppsOfTwoServers opens the interfaces of two copies of a published server
// with the official host SDK.
func TestAppsOfTwoServers(t *testing.T) {
	t.Parallel()
	server := entry(node(t), npmServer("server-map"), "--stdio")
	// The host lists the tools once, so both servers must have started by then.
	g := mcptest.Gateway(t, strings.Replace(config("map", server, "atlas", server), "{", `{"startWait":"1m",`, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, node(t), script(t, "apps_host.mjs"), g.URL+"/mcp")
	cmd.Stderr = &logWriter{t}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the host: %v\n%s", err, out)
	}
	var seen struct {
		Error string
		Apps  []app
	}
	if err := json.Unmarshal(out, &seen); err != nil || seen.Error != "" {
		t.Fatalf("the host failed: %v %s\nit saw: %s", err, seen.Error, out)
	}
	const page = "text/html;profile=mcp-app"
	want := []app{
		{Tool: "map__show-map", URI: "ui://cesium-map/mcp-app.html", Read: "ui://cesium-map/mcp-app.html", MIMEType: page, Same: true, Listed: true},
		{Tool: "atlas__show-map", URI: "ui://~atlas/cesium-map/mcp-app.html", Read: "ui://~atlas/cesium-map/mcp-app.html", MIMEType: page, Same: true, Listed: true},
	}
	for _, w := range want {
		t.Run("true/6 "+w.Tool+" in the official host", func(t *testing.T) {
			for _, a := range seen.Apps {
				if a.Tool == w.Tool {
					if diff := cmp.Diff(w, a); diff != "" {
						t.Errorf("-want +got:\n%s", diff)
					}
					return
				}
			}
			t.Errorf("it has no interface: %s", out)
		})
	}
}
