//go:build unix

package install

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// A registry that wants credentials gets those that docker login or podman login
// have kept for it, and no others.
func TestImageCredentials(t *testing.T) {
	digest := "sha256:" + strings.Repeat("c", 64)
	var scheme string
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	host := strings.TrimPrefix(srv.URL, "http://")
	mux.HandleFunc("GET /v2/o/x/manifests/1", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case scheme == "Basic" && user == "me" && password == "s3cret", scheme == "Bearer" && r.Header.Get("Authorization") == "Bearer pull":
			w.Header().Set("Docker-Content-Digest", digest)
		case scheme == "Basic":
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+srv.URL+`/token",service="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		refreshed := r.Method == http.MethodPost && r.FormValue("refresh_token") == "long" && r.FormValue("grant_type") == "refresh_token"
		if (user != "me" || password != "s3cret") && !refreshed || r.FormValue("scope") != "repository:o/x:pull" || r.FormValue("service") != "registry" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"token":"pull"}`)
	})
	dir := t.TempDir()
	helper := "#!/bin/sh\nread host\ncase $1-$host in\nget-" + host + `) echo '{"Username":"me","Secret":"s3cret"}';;` + "\n*) echo 'credentials not found in native keychain'; exit 1;;\nesac\n"
	token := "#!/bin/sh\n" + `echo '{"Username":"<token>","Secret":"long"}'` + "\n"
	for name, text := range map[string]string{"docker-credential-keys": helper, "docker-credential-tokens": token} {
		must.Program(t, filepath.Join(dir, name), text)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("HOME", dir)
	for _, name := range []string{"DOCKER_CONFIG", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	login := base64.StdEncoding.EncodeToString([]byte("me:s3cret"))
	for id, tt := range map[string]struct{ scheme, file, want string }{
		"password":        {"Basic", `{"auths":{"` + host + `":{"auth":"` + login + `"}}}`, digest},
		"token":           {"Bearer", `{"auths":{"https://` + host + `":{"auth":"` + login + `"}}}`, digest},
		"helper":          {"Basic", `{"credHelpers":{"` + host + `":"keys"}}`, digest},
		"store":           {"Basic", `{"auths":{"` + host + `":{}},"credsStore":"keys"}`, digest},
		"identity":        {"Bearer", `{"auths":{"` + host + `":{"identitytoken":"long"}}}`, digest},
		"identity helper": {"Bearer", `{"credHelpers":{"` + host + `":"tokens"}}`, digest},
		"another host":    {"Basic", `{"auths":{"other.example":{"auth":"` + login + `"}}}`, "sign in with docker login " + host + ", or podman login " + host},
		"wrong":           {"Bearer", `{"auths":{"` + host + `":{"auth":"bWU6eA=="}}}`, "401 Unauthorized: sign in with docker login " + host},
		"not known":       {"Basic", `{"credHelpers":{"` + host + `":"absent"}}`, "asking docker-credential-absent"},
		"a path":          {"Basic", `{"credHelpers":{"` + host + `":"../../x"}}`, "is not a name of a credential helper"},
		"broken":          {"Basic", `{`, "auth.json"},
	} {
		t.Run("install/image/login "+id, func(t *testing.T) {
			file := must.Write(t, filepath.Join(t.TempDir(), "auth.json"), tt.file)
			t.Setenv("REGISTRY_AUTH_FILE", file)
			scheme = tt.scheme
			im := &Image{Host: host, Path: "o/x", Tag: "1"}
			err := im.Pin(t.Context(), []string{srv.URL})
			if got := im.Digest + " " + fmt.Sprint(err); !strings.Contains(got, tt.want) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
