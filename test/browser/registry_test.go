package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcpserver"
)

// notes is a record of a remote server that needs a key.
const notes = `{"server":{"name":"com.example/notes","description":"Notes that a team shares.","version":"2.1.0","repository":{"url":"https://github.com/example/notes","source":"github"},
	"remotes":[{"type":"streamable-http","url":%q,"headers":[{"name":"Authorization","value":"Bearer {key}","variables":{"key":{"description":"The key of your team","isRequired":true,"isSecret":true}}}]}]},
	"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","publishedAt":"2026-10-02T08:00:00Z","isLatest":true}}}`

// registry is an MCP registry with responses recorded from the official one,
// and a record of a server that runs beside it and takes one key.
func registry(t *testing.T, root string) string {
	t.Helper()
	demo, end := mcpserver.Demo().HTTP("team-key")
	files := filepath.Join(root, "internal", "install", "testdata", "registry")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			demo.ServeHTTP(w, r)
			return
		}
		record, body := fmt.Sprintf(notes, "http://"+r.Host+"/mcp"), ""
		switch path := strings.TrimPrefix(r.URL.EscapedPath(), "/v0.1/servers"); {
		case path == "" && strings.Contains("com.example/notes", r.URL.Query().Get("search")):
			body = `{"servers":[` + record + `],"metadata":{"count":1}}`
		case path == "":
			body = text(t, filepath.Join(files, "search.json"))
		case path == "/com.example%2Fnotes/versions/latest":
			body = record
		case path == "/io.github.domdomegg%2Fairtable-mcp-server/versions/latest":
			body = text(t, filepath.Join(files, "airtable-mcp-server.latest.json"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(func() { srv.Close(); end() })
	return srv.URL
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
