package install

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// imagePlan plans a record with one image.
func imagePlan(t *testing.T, id, more string) (*Plan, error) {
	t.Helper()
	return planOf(t, fmt.Sprintf(`"packages":[{"registryType":"oci","identifier":%q,"transport":{"type":"stdio"}%s}]`, id, more))
}

func TestImageArguments(t *testing.T) {
	dir := t.TempDir()
	mount := `{"type":"named","name":"--mount","value":"type=bind,src={from},dst={to}","variables":{"from":{"default":"/","format":"string"},"to":{"default":"/work"}}}`
	volume := `{"type":"named","name":"-v","value":"{from}:/data:ro","variables":{"from":{}}}`
	for id, tt := range map[string]struct{ image, more, want string }{
		"hub":             {"owner/x:1.0", "", `["run","-i","--rm","docker.io/owner/x:1.0"]`},
		"official":        {"x:1.0", "", `["run","-i","--rm","docker.io/library/x:1.0"]`},
		"host":            {"ghcr.io/o/x:v1", "", `["run","-i","--rm","ghcr.io/o/x:v1"]`},
		"older record":    {"owner/x", `,"version":"1.0","registryBaseUrl":"https://docker.io"`, `["run","-i","--rm","docker.io/owner/x:1.0"]`},
		"digest":          {"ghcr.io/o/x:v1@sha256:" + strings.Repeat("a", 64), "", `["run","-i","--rm","ghcr.io/o/x@sha256:` + strings.Repeat("a", 64) + `"]`},
		"arguments":       {"o/x:1", `,"packageArguments":[{"type":"positional","value":"serve"}]`, `["run","-i","--rm","docker.io/o/x:1","serve"]`},
		"variables":       {"o/x:1", `,"environmentVariables":[{"name":"B","value":"2"},{"name":"A","value":"1"}],"runtimeArguments":[{"type":"named","name":"-e","value":"C=3"}]`, `["run","-i","--rm","-e","A","-e","B","-e","C","docker.io/o/x:1"] map[A:1 B:2 C:3]`},
		"mount":           {"o/x:1", `,"runtimeArguments":[` + mount + `]`, `["run","-i","--rm","--mount","type=bind,src=` + dir + `,dst=/work","docker.io/o/x:1"]`},
		"volume":          {"o/x:1", `,"runtimeArguments":[` + volume + `]`, `["run","-i","--rm","-v","` + dir + `:/data:ro","docker.io/o/x:1"]`},
		"no tag":          {"o/x", "", "o/x: is not an exact version of an image: refused"},
		"latest":          {"o/x:latest", "", "is not an exact version of an image: refused"},
		"option":          {"--privileged", "", "is not a name of an image: refused"},
		"space":           {"o/x:1 -v /:/x", "", "is not a name of an image: refused"},
		"base":            {"o/x:1", `,"registryBaseUrl":"https://evil.example"`, "names the base https://evil.example apart from its name: refused"},
		"privileged":      {"o/x:1", `,"runtimeArguments":[{"type":"named","name":"--privileged"}]`, "the argument --privileged of docker, which opens the machine to the image: refused"},
		"network":         {"o/x:1", `,"runtimeArguments":[{"type":"named","name":"--network","value":"host"}]`, "the argument --network host of docker"},
		"positional":      {"o/x:1", `,"runtimeArguments":[{"type":"positional","value":"run"}]`, "opens the machine to the image: refused"},
		"fixed mount":     {"o/x:1", `,"runtimeArguments":[{"type":"named","name":"-v","value":"/:/host"}]`, "the argument -v /:/host of docker"},
		"engine's socket": {"o/x:1", `,"runtimeArguments":[{"type":"named","name":"-v","value":"{a}:/s","variables":{"a":{"value":"/var/run/docker.sock"}}}]`, "opens the machine to the image: refused"},
		"more of a mount": {"o/x:1", `,"runtimeArguments":[{"type":"named","name":"--mount","value":"type=bind,src={from},dst=/x,bind-propagation=shared","variables":{"from":{}}}]`, "opens the machine to the image: refused"},
		"smuggled option": {"o/x:1", `,"runtimeArguments":[` + strings.Replace(mount, `"/work"`, `"/w,bind-propagation=shared"`, 1) + `]`, "has a comma or colon: refused"},
		"engine's host":   {"o/x:1", `,"environmentVariables":[{"name":"DOCKER_HOST"}]`, "sets DOCKER_HOST, which decides where docker runs images: refused"},
		"its own host":    {"o/x:1", `,"environmentVariables":[{"name":"DOCKER_HOST","value":"tcp://evil.example"}]`, "sets DOCKER_HOST itself"},
		"loader":          {"o/x:1", `,"runtimeArguments":[{"type":"named","name":"--env","value":"LD_PRELOAD=/x"}]`, "sets LD_PRELOAD"},
	} {
		t.Run("install/image/"+id, func(t *testing.T) {
			p, err := imagePlan(t, tt.image, tt.more)
			got := fmt.Sprint(err)
			if err == nil {
				answers := Answers{KindArg: {"from": {dir}}}
				if len(p.Questions) == 0 {
					answers = Answers{}
				}
				filled := settled(t, p.Questions, p.Fill, answers)
				filled.Entry.Confine()
				args, _ := json.Marshal(filled.Entry.Args)
				if got = string(args); len(filled.Entry.Env) > 0 {
					got += " " + fmt.Sprint(filled.Entry.Env)
				}
				if filled.Entry.Command != "docker" || filled.Entry.Sandbox != nil {
					t.Errorf("runs %s, sandbox %v", filled.Entry.Command, filled.Entry.Sandbox)
				}
			}
			if want := strings.TrimPrefix(tt.want, "o/x: "); !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
	if _, err := imagePlan(t, "o/x:1", `,"runtimeArguments":[`+mount+`]`); err != nil {
		t.Fatal(err)
	}
	p, _ := imagePlan(t, "o/x:1", `,"runtimeArguments":[`+mount+`]`)
	if missing := Missing(p.Questions, Answers{}); len(missing) != 1 || missing[0].ID != "from" || missing[0].Default != "" {
		t.Errorf("the record chooses what is mounted: %+v", missing)
	}
}

// The digest comes from the registry of the image, before anything is
// downloaded.
func TestImagePin(t *testing.T) {
	digest := "sha256:" + strings.Repeat("b", 64)
	answers := map[string]string{"/v2/o/good/manifests/1": digest, "/v2/o/bad/manifests/1": "sha256:nonsense"}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, ok := answers[r.URL.Path]
		switch {
		case r.Method != http.MethodHead || r.Header.Get("Authorization") != "":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/v2/o/closed/manifests/1":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("Docker-Content-Digest", d)
		}
	}))
	t.Cleanup(srv.Close)
	host := strings.TrimPrefix(srv.URL, "http://")
	for path, want := range map[string]string{
		"o/good": host + "/o/good@" + digest, "o/bad": "does not say the digest", "o/none": "404", "o/closed": "sign in with docker login " + host,
	} {
		im := &Image{Host: host, Path: path, Tag: "1"}
		err := im.Pin(t.Context(), []string{srv.URL})
		if got := im.String() + " " + fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	im := &Image{Host: host, Path: "o/good", Tag: "1"}
	if err := im.Pin(t.Context(), nil); err == nil {
		t.Errorf("a registry on this machine was asked, and it is not configured")
	}
	im.PinnedIn([]string{"run", host + "/o/good@" + digest})
	if im.Digest != digest {
		t.Errorf("got %s", im)
	}
}

// A person names an image by a word that is nothing else.
func TestImageWord(t *testing.T) {
	for word, want := range map[string]string{
		"docker:x":                "docker.io/library/x:latest",
		"docker:ghcr.io/o/x:v1":   "ghcr.io/o/x:v1",
		"docker:localhost:5/x":    "localhost:5/x:latest",
		"docker:o/x -v /:/x":      "is not a name of an image",
		"docker:":                 "is not a name of an image",
		"docker:--privileged":     "is not a name of an image",
		"docker:o/../x":           "is not a name of an image",
		"docker:https://h/x":      "is not a name of an image",
		"docker:o/x@sha256:short": "is not a name of an image",
	} {
		im, err := NewImage(word)
		got := fmt.Sprint(err)
		if err == nil {
			got = im.String()
		}
		if !IsImage(word) || !strings.Contains(got, want) {
			t.Errorf("install/image: %s: %s, want %s", word, got, want)
		}
	}
}
