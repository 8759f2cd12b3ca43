package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// newAdding returns a gateway that uses its own registry.
func newAdding(t *testing.T) *guarded {
	t.Helper()
	files := filepath.Join("..", "install", "testdata", "registry")
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := map[string]string{"": "search-airtable", "/io.github.domdomegg%2Fairtable-mcp-server/versions/latest": "airtable-mcp-server.latest"}[strings.TrimPrefix(r.URL.EscapedPath(), "/v0.1/servers")]
		if name == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.ServeFile(w, r, filepath.Join(files, name+".json"))
	}))
	t.Cleanup(registry.Close)
	g := unguarded(t)
	g.write("mcp.json", fmt.Sprintf(`{"access":{"keys":%q},"registries":[{"name":"work","url":%q,"names":["*"]}],"mcpServers":{}}`, filepath.Join(g.dir, "keys.json"), registry.URL))
	for name, scopes := range map[string][]string{"boss": {"admin"}, "chief": {"admin"}, "ann": nil, "bound": {"admin", "server:other"}} {
		args := []string{"key", "create", name}
		for _, s := range scopes {
			args = append(args, "--scope", s)
		}
		g.keys[name] = g.command(args...)
	}
	g.start()
	return g
}

// read returns the config file.
func (g *guarded) read(t *testing.T) string {
	t.Helper()
	return must.Read(t, filepath.Join(g.dir, "mcp.json"))
}

// bundle returns a bundle that the official tool packed.
func bundle(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "install", "testdata", "bundles", "hello.mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// parsed decodes a part of a response.
func parsed[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	must.Parse(t, text, &v)
	return v
}

type shownOffer struct {
	ID, Entry, Hash string
	Missing         []string
	Rows            []struct{ Kind, Text string }
	Questions       []struct {
		ID     string
		Secret bool
	}
}

func TestAddThroughTheConsole(t *testing.T) {
	t.Parallel()
	g := newAdding(t)
	look := func(t *testing.T, body string) shownOffer {
		t.Helper()
		return parsed[shownOffer](t, g.want(t, 200, "boss", "POST", "add/look", body))
	}
	const airtable = `{"word":"io.github.domdomegg/airtable-mcp-server"}`
	t.Run("install/console only an administrator", func(t *testing.T) {
		g.want(t, 403, "ann", "GET", "add/search?q=airtable", "")
		g.want(t, 403, "ann", "POST", "add/look", airtable)
		g.want(t, 401, "", "POST", "add/look", airtable)
		o := look(t, airtable)
		g.want(t, 404, "chief", "POST", "add/"+o.ID+"/show", `{}`)
		g.want(t, 404, "chief", "POST", "add/"+o.ID+"/install", `{"hash":""}`)
		other := parsed[shownOffer](t, g.want(t, 200, "bound", "POST", "add/look", airtable))
		g.want(t, 422, "bound", "POST", "add/"+other.ID+"/show", `{}`)
	})
	t.Run("install/console search", func(t *testing.T) {
		if got := g.want(t, 200, "boss", "GET", "add/search?q=airtable", ""); !strings.Contains(got, `"name":"io.github.domdomegg/airtable-mcp-server","version":"1.7.3"`) {
			t.Error(got)
		}
		g.want(t, 422, "boss", "GET", "add/search?q=ai", "")
	})
	t.Run("install/console what will run is shown, and nothing is written", func(t *testing.T) {
		o := look(t, airtable)
		shown := parsed[shownOffer](t, g.want(t, 200, "boss", "POST", "add/"+o.ID+"/show", `{"answers":{"env":{}}}`))
		if len(o.Questions) != 1 || !o.Questions[0].Secret || len(shown.Missing) != 1 || !strings.Contains(shown.Entry, `"${secret:airtable.AIRTABLE_API_KEY}"`) {
			t.Errorf("%+v %+v", o, shown)
		}
		var runs string
		for _, row := range shown.Rows {
			if row.Kind == "runs" {
				runs = row.Text
			}
		}
		if runs != "npx -y airtable-mcp-server@1.7.3" {
			t.Errorf("runs %q", runs)
		}
		g.want(t, 422, "boss", "POST", "add/"+o.ID+"/install", fmt.Sprintf(`{"hash":%q}`, shown.Hash)) // its secret is missing
		g.want(t, 409, "boss", "POST", "add/"+o.ID+"/install", `{"hash":"0"}`)
		g.want(t, 422, "boss", "POST", "add/"+o.ID+"/show", `{"answers":{"env":{"OTHER":["x"]}}}`)
		if text := g.read(t); strings.Contains(text, "airtable") {
			t.Error(text)
		}
	})
	t.Run("install/console a bundle with a secret", func(t *testing.T) { addBundle(t, g, look) })
	t.Run("install/console a command that ends stays, switched off", func(t *testing.T) {
		o := look(t, fmt.Sprintf(`{"name":"gone","entry":{"command":%q,"env":{"TOKEN":"hush","PLAIN":"seen"}},"secret":["TOKEN"]}`, filepath.Join(g.dir, "no-such-program")))
		shown := parsed[shownOffer](t, g.want(t, 200, "boss", "POST", "add/"+o.ID+"/show", `{}`))
		if strings.Contains(shown.Entry, "hush") || !strings.Contains(shown.Entry, "${secret:gone.TOKEN}") || !strings.Contains(shown.Entry, "seen") {
			t.Error(shown.Entry)
		}
		got := g.want(t, 200, "boss", "POST", "add/"+o.ID+"/install", fmt.Sprintf(`{"hash":%q}`, shown.Hash))
		if !strings.Contains(got, `"state":"disabled"`) || !strings.Contains(got, "no-such-program") {
			t.Error(got)
		}
		if text := g.read(t); !strings.Contains(text, "disabled") && !strings.Contains(text, `"enabled": false`) || strings.Contains(text, "hush") {
			t.Error(text)
		}
		g.want(t, 404, "boss", "POST", "add/"+o.ID+"/install", fmt.Sprintf(`{"hash":%q}`, shown.Hash))
	})
	t.Run("install/console what is no name and no bundle", func(t *testing.T) {
		for _, body := range []string{`{"word":"nothing"}`, `{"word":"/etc/passwd"}`, `{"entry":{}}`, `{"name":"x","entry":{"command":"a","url":"https://b"}}`, `{"word":"io.github.domdomegg/nope"}`} {
			g.want(t, 422, "boss", "POST", "add/look", body)
		}
	})
}

// addBundle uploads a bundle, answers its questions, and adds exactly the entry
// that was shown last.
func addBundle(t *testing.T, g *guarded, look func(*testing.T, string) shownOffer) {
	data := must.Read(t, bundle(t))
	o := parsed[shownOffer](t, g.want(t, 200, "boss", "POST", "add/bundle?name=hello.mcpb", data))
	g.want(t, 422, "boss", "POST", "add/bundle?name=hello.mcpb", "no zip")
	g.want(t, 422, "boss", "POST", "add/bundle?name=hello.txt", data)
	answers := fmt.Sprintf(`{"arg":{"folders":[%q]},"env":{"key":["s3cret"]}}`, t.TempDir())
	first := g.want(t, 200, "boss", "POST", "add/"+o.ID+"/show", `{"confined":true,"answers":`+answers+`}`)
	second := g.want(t, 200, "boss", "POST", "add/"+o.ID+"/show", `{"name":"hallo","confined":true,"answers":`+answers+`}`)
	if strings.Contains(first+second, "s3cret") {
		t.Error("a secret was shown:", second)
	}
	g.want(t, 409, "boss", "POST", "add/"+o.ID+"/install", fmt.Sprintf(`{"hash":%q}`, parsed[shownOffer](t, first).Hash))
	got := g.want(t, 200, "boss", "POST", "add/"+o.ID+"/install", fmt.Sprintf(`{"hash":%q}`, parsed[shownOffer](t, second).Hash))
	if !strings.Contains(got, `"name":"hallo","state":"up","tools":1`) {
		t.Error(got)
	}
	if text := g.read(t); strings.Contains(text, "s3cret") || !strings.Contains(text, "${secret:hallo.key}") {
		t.Error(text)
	}
	again := look(t, fmt.Sprintf(`{"word":%q}`, bundle(t)))
	if text := g.want(t, 422, "boss", "POST", "add/"+again.ID+"/show", `{"name":"hallo"}`); !strings.Contains(text, "choose another name") {
		t.Error(text)
	}
}
