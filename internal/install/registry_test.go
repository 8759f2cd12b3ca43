package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
)

// recorded serves recorded responses of the official registry's own server with
// its seed data.
func recorded(t *testing.T) *httptest.Server {
	t.Helper()
	files := map[string]string{
		"?search=mcp":      "search",
		"?search=airtable": "search-airtable",
	}
	for _, name := range []string{"airtable-mcp-server", "time-mcp-nuget", "time-mcp-pypi"} {
		files["/io.github.domdomegg%2F"+name+"/versions/latest"] = name + ".latest"
		files["/io.github.domdomegg%2F"+name+"/versions"] = name + ".versions"
	}
	files["/io.github.domdomegg%2Fairtable-mcp-server/versions/1.7.2"] = "airtable-mcp-server.1.7.2"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.URL.EscapedPath(), "/v0.1/servers")
		if key == "" {
			if r.URL.Query().Get("version") != "latest" {
				t.Errorf("a list of all versions was asked for: %s", r.URL)
			}
			key = "?search=" + r.URL.Query().Get("search")
		}
		w.Header().Set("Content-Type", "application/json")
		name, ok := files[key]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			name = "not-found"
		}
		data, err := os.ReadFile(filepath.Join("testdata", "registry", name+".json"))
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func opened(t *testing.T, list ...config.Registry) *Registries {
	t.Helper()
	r := Open(list, t.TempDir(), nil)
	t.Cleanup(r.Close)
	return r
}

// all binds every name to a registry, so that no other registry is asked.
var all = []string{"*"}

func codeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

func TestFind(t *testing.T) {
	srv := recorded(t)
	r := opened(t, config.Registry{Name: "work", URL: srv.URL + "/", Names: all})
	for name, tt := range map[string]struct {
		name, version, want, code, text string
	}{
		"latest":        {"airtable-mcp-server", "", "1.7.3", "", ""},
		"exact":         {"airtable-mcp-server", "1.7.2", "1.7.2", "", ""},
		"no version":    {"airtable-mcp-server", "9.9.9", "", env.CodeNoVersion, "9.9.9 is not published; available: 1.7.3, 1.7.2"},
		"unknown, near": {"airtable", "", "", env.CodeUnknownName, "no registry knows io.github.domdomegg/airtable; near: io.github.domdomegg/airtable-mcp-server"},
		"unknown":       {"nope", "", "", env.CodeUnknownName, "no registry knows io.github.domdomegg/nope"},
	} {
		t.Run("install/find/"+name, func(t *testing.T) {
			rec, err := r.Find(t.Context(), "io.github.domdomegg/"+tt.name, tt.version)
			if codeOf(err) != tt.code || err != nil && err.Error() != tt.text {
				t.Fatalf("error %v (%s), want %q (%s)", err, codeOf(err), tt.text, tt.code)
			}
			if err == nil && (rec.Server.Version != tt.want || rec.Registry != "work") {
				t.Errorf("version %s of %s", rec.Server.Version, rec.Registry)
			}
		})
	}
}

func TestSearchRegistries(t *testing.T) {
	srv := recorded(t)
	r := &Registries{list: []*registry{{name: "work", url: srv.URL, client: srv.Client()}}}
	list, faults := r.Search(t.Context(), "mcp")
	if len(list) != 3 || len(faults) != 0 {
		t.Errorf("install/search: %d records, %v", len(list), faults)
	}
}

// Only a 404 leads to the next registry, and a bound name is asked for only at
// its registry.
func TestOrderOfRegistries(t *testing.T) {
	good := recorded(t)
	var asked atomic.Int32
	status := func(code int) *httptest.Server {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); w.WriteHeader(code) }))
		t.Cleanup(srv.Close)
		return srv
	}
	missing, broken := status(http.StatusNotFound), status(http.StatusInternalServerError)
	const name = "io.github.domdomegg/airtable-mcp-server"
	for id, tt := range map[string]struct {
		first *httptest.Server
		names []string
		code  string
	}{
		"404 goes on":      {missing, nil, ""},
		"500 stops":        {broken, nil, env.CodeRegistry},
		"bound, not there": {missing, []string{"io.github.domdomegg/*"}, env.CodeUnknownName},
	} {
		t.Run("install/order/"+id, func(t *testing.T) {
			r := opened(t, config.Registry{Name: "first", URL: tt.first.URL, Names: tt.names}, config.Registry{Name: "second", URL: good.URL})
			_, err := r.Find(t.Context(), name, "")
			if codeOf(err) != tt.code {
				t.Errorf("error %v, want %s", err, tt.code)
			}
		})
	}
	t.Run("install/order/bound elsewhere", func(t *testing.T) {
		before := asked.Load()
		r := opened(t, config.Registry{Name: "first", URL: broken.URL}, config.Registry{Name: "second", URL: good.URL, Names: []string{"io.github.domdomegg/*"}})
		if _, err := r.Find(t.Context(), name, ""); err != nil || asked.Load() != before {
			t.Errorf("%v, and %d questions to the other registry", err, asked.Load()-before)
		}
	})
	t.Run("install/order/none", func(t *testing.T) {
		r := Open([]config.Registry{}, "", nil)
		if _, err := r.Find(t.Context(), name, ""); codeOf(err) != env.CodeUnknownName {
			t.Error(err)
		}
	})
}

// A stored record works offline, by its exact version.
func TestOffline(t *testing.T) {
	srv := recorded(t)
	dir := t.TempDir()
	c := []config.Registry{{Name: "work", URL: srv.URL, Names: all}}
	const name = "io.github.domdomegg/airtable-mcp-server"
	r := Open(c, dir, nil)
	if _, err := r.Find(t.Context(), name, "1.7.2"); err != nil {
		t.Fatal(err)
	}
	r.Close()
	srv.Close()
	r = Open(c, dir, nil)
	defer r.Close()
	rec, err := r.Find(t.Context(), name, "1.7.2")
	if err != nil || !rec.Kept {
		t.Errorf("install/offline: %v", err)
	}
	_, err = r.Find(t.Context(), name, "")
	if codeOf(err) != env.CodeRegistry || !strings.Contains(err.Error(), "works offline for what was fetched before: "+name+"@1.7.2") {
		t.Errorf("install/offline: %v", err)
	}
}

// A token is sent only to its own registry: redirects are not followed.
// Non-public addresses are used only if they are configured.
func TestRegistryLeadsNowhere(t *testing.T) {
	var reached atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(trap.Close)
	var tokens atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer t0ken" {
			tokens.Add(1)
		}
		http.Redirect(w, r, trap.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(srv.Close)
	r := opened(t, config.Registry{Name: "work", URL: srv.URL, Token: "t0ken", Names: all})
	_, err := r.Find(t.Context(), "a.b/c", "")
	if codeOf(err) != env.CodeRegistry || reached.Load() != 0 || tokens.Load() != 1 {
		t.Errorf("install/redirect: %v, %d requests elsewhere, %d tokens", err, reached.Load(), tokens.Load())
	}
	official := Open(nil, t.TempDir(), nil)
	defer official.Close()
	official.list[0].url = trap.URL
	if _, err := official.Find(t.Context(), "a.b/c", ""); err == nil || reached.Load() != 0 {
		t.Errorf("install/redirect: the built-in registry on this machine: %v, %d requests", err, reached.Load())
	}
}

// TestBadRegistries has registries that send wrong or endless responses.
func TestBadRegistries(t *testing.T) {
	record := func(name string) string {
		return fmt.Sprintf(`{"server":{"name":%q,"description":"d","version":"1.0.0"},"_meta":{}}`, name)
	}
	for name, tt := range map[string]struct{ body, want string }{
		"another name":         {record("a.b/other"), "was asked for a.b/c and answered with a.b/other"},
		"another name, unseen": {record("a.b/c\u202e"), "⟨U+202E⟩"},
		"key twice":            {`{"server":{"name":"a.b/c","name":"a.b/c","version":"1"}}`, "is there twice"},
		"key in another s":     {`{"server":{"name":"a.b/c","version":"1"},"ſerver":{"name":"a.b/c","version":"2"}}`, "is there twice"},
		"key in another k":     {`{"server":{"name":"a.b/c","version":"1","pacKages":[],"pacKages":[]}}`, "is there twice"},
		"key in two cases":     {`{"server":{"name":"a.b/c","Name":"a.b/d","version":"1"}}`, "is there twice"},
		"deep":                 {`{"server":` + strings.Repeat(`[`, 70) + strings.Repeat(`]`, 70) + `}`, "64 levels"},
		"large":                {`{"server":"` + strings.Repeat("x", maxRecord) + `"}`, "larger than"},
		"not JSON":             {`<html>`, "not JSON"},
		"two values":           {record("a.b/c") + `{}`, "follows the JSON value"},
		"wrong type":           {`{"server":{"name":5}}`, "published form"},
		"many packages":        {`{"server":{"name":"a.b/c","version":"1","packages":[` + strings.Repeat(`{},`, 20) + `{}]}}`, "more than 20 packages"},
		"many inputs":          {`{"server":{"name":"a.b/c","version":"1","packages":[{"environmentVariables":[` + strings.Repeat(`{},`, 200) + `{}]}]}}`, "more than 200 inputs"},
	} {
		t.Run("install/bad-record/"+name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tt.body) }))
			t.Cleanup(srv.Close)
			_, err := opened(t, config.Registry{Name: "work", URL: srv.URL, Names: all}).Find(t.Context(), "a.b/c", "")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("install/bad-record/lying cursor", func(t *testing.T) {
		pages := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			pages++
			fmt.Fprintf(w, `{"servers":[%s],"metadata":{"nextCursor":"c%d"}}`, record(fmt.Sprintf("a.b/c%d", pages)), pages)
		}))
		t.Cleanup(srv.Close)
		g := &registry{name: "work", url: srv.URL, client: srv.Client()}
		if list, err := g.search(t.Context(), "word"); err != nil || pages != maxPages || len(list) != maxPages {
			t.Errorf("%d pages, %d records, %v", pages, len(list), err)
		}
	})
	t.Run("install/bad-record/slow", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		t.Cleanup(srv.Close)
		ctx, cancel := context.WithCancel(t.Context())
		r := opened(t, config.Registry{Name: "work", URL: srv.URL, Names: all})
		if limit := r.list[0].client.Timeout; limit == 0 || limit.Seconds() > 10 {
			t.Errorf("a registry may take %v", limit)
		}
		cancel()
		if _, err := r.Find(ctx, "a.b/c", ""); err == nil {
			t.Error("an answer")
		}
	})
}

// Search lists a name only from the registry that add would ask for it. It does
// not ask a registry if all names are bound to another.
func TestSearchKeepsNamesBound(t *testing.T) {
	var asked atomic.Int32
	good := recorded(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.ServeFile(w, r, filepath.Join("testdata", "registry", "search.json"))
	}))
	t.Cleanup(other.Close)
	for id, tt := range map[string]struct {
		names []string
		want  int32
	}{"one name": {[]string{"io.github.domdomegg/airtable-*"}, 1}, "all names": {all, 0}} {
		t.Run("install/search bound/"+id, func(t *testing.T) {
			asked.Store(0)
			r := &Registries{list: []*registry{
				{name: "public", url: other.URL, client: other.Client()}, {name: "work", url: good.URL, client: good.Client(), names: tt.names}}}
			list, faults := r.Search(t.Context(), "airtable")
			for _, rec := range list {
				if rec.Server.Name == "io.github.domdomegg/airtable-mcp-server" && rec.Registry != "work" {
					t.Errorf("%s is from %s", rec.Server.Name, rec.Registry)
				}
			}
			if len(list) == 0 || len(faults) != 0 || asked.Load() != tt.want {
				t.Errorf("%d found, %v, the other was asked %d times", len(list), faults, asked.Load())
			}
		})
	}
}
