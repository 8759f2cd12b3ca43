package cli_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// expired returns a certificate that expired yesterday.
func expired(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// answering starts a server that answers every request with one status.
func answering(t *testing.T, status int, header ...string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// doctorCases returns servers that do not start, with the fix that doctor
// suggests.
func doctorCases(t *testing.T, dir string) map[string][2]string {
	closed := must.Listen(t)
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{Certificates: []tls.Certificate{expired(t)}}
	old.StartTLS()
	t.Cleanup(old.Close)
	silence := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silence:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(silence); silent.Close() })
	must.Write(t, filepath.Join(dir, "plain.txt"), "no program")
	url := func(u string, more ...string) string {
		entry := map[string]any{"url": u}
		for i := 0; i+1 < len(more); i += 2 {
			entry[more[i]] = json.RawMessage(more[i+1])
			if !json.Valid([]byte(more[i+1])) {
				entry[more[i]] = more[i+1]
			}
		}
		raw, _ := json.Marshal(entry)
		return string(raw)
	}
	sh := func(script string) string {
		raw, _ := json.Marshal(map[string]any{"command": "sh", "args": []string{"-c", script}})
		return string(raw)
	}
	return map[string][2]string{
		"absent":       {url(answering(t, 404)), `nothing is at that path; most servers are at /mcp; try http://127.*/mcp`},
		"nope":         {url(answering(t, 404) + "/nope"), `nothing is at that path; most servers are at /mcp; try http://127[^/]*/mcp`},
		"below":        {url(answering(t, 404) + "/api/v1/?key=x"), `most servers are at /mcp; try http://127[^/]*/api/v1/mcp`},
		"schema":       {url(answering(t, 404) + "/api/default"), `try http://127[^/]*/api/default/mcp$`},
		"server":       {url(answering(t, 404) + "/s/demo"), `try http://127[^/]*/s/demo/mcp$`},
		"wrongkey":     {url(answering(t, 401, "Www-Authenticate", "Bearer")+"/mcp", "headers", `{"authorization":"Bearer x"}`), `^its key is refused: correct headers.authorization of wrongkey in .*mcp.json$`},
		"wrongurl":     {url(strings.Replace(answering(t, 401), "//", "//a:b@", 1) + "/mcp"), `^its key is refused: correct url of wrongurl in .*mcp.json$`},
		"refused":      {url("http://" + closed.Addr().String() + "/mcp"), `nothing listens there: start the server, or correct the port`},
		"authority":    {url(secure.URL + "/mcp"), `does not know who issued its certificate`},
		"expired":      {url(old.URL + "/mcp"), `its certificate has expired`},
		"othername":    {url(strings.Replace(secure.URL, "127.0.0.1", "localhost", 1) + "/mcp"), `its certificate is for another name: .* not localhost`},
		"plainhttp":    {url(strings.Replace(answering(t, 200), "http:", "https:", 1) + "/mcp"), `it does not speak TLS: write http://`},
		"nohost":       {url("http://no-such-host.invalid/mcp"), `no host is called no-such-host.invalid`},
		"slow":         {url(silent.URL + "/mcp"), `it does not answer: start it, or allow more time`},
		"unauthorized": {url(answering(t, 401)+"/mcp", "type", "http"), `mcp-all-in-one auth login unauthorized`},
		"forbidden":    {url(answering(t, 403)+"/mcp", "type", "http"), `mcp-all-in-one auth login forbidden`},
		"moved":        {url(answering(t, 308, "Location", "/new/mcp")+"/mcp", "type", "http"), `write the new address as its url: http://127.*/new/mcp`},
		"wrongtype":    {url(answering(t, 405)+"/sse", "type", "http"), `try "type": "sse"`},
		"unknown":      {`{"command":"no-such-program-here"}`, `install no-such-program-here`},
		"notexec":      {`{"command":"./plain.txt"}`, `chmod \+x ./plain.txt`},
		"dies":         {sh("echo the disk is full >&2; exit 3"), `run it by hand to see what it wants: sh -c`},
		"asks":         {sh("echo 'Error: GITHUB_TOKEN is required' >&2; exit 1"), `it asks for GITHUB_TOKEN: set it in its env`},
		"unset":        {`{"command":"sh","env":{"A":"${NO_SUCH_VARIABLE}"}}`, `NO_SUCH_VARIABLE: set it in the environment`},
		"prints":       {sh("echo Server is listening; exec sleep 60"), `it prints to standard output.*Server is listening`},
	}
}

// TestDoctorNamesTheFix checks the fix for each error that doctor recognizes.
func TestDoctorNamesTheFix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cases := doctorCases(t, dir)
	servers := map[string]json.RawMessage{}
	for name, c := range cases {
		servers[name] = json.RawMessage(c[0])
	}
	raw, _ := json.Marshal(map[string]any{"startWait": "4s", "limits": map[string]any{"handshake": "2s"}, "mcpServers": servers})
	must.Write(t, filepath.Join(dir, "mcp.json"), raw)
	p := mcptest.Product(t, "doctor", "-c", "mcp.json", "--json")
	cmd := exec.CommandContext(t.Context(), p.Path, p.Args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), p.Env...), "MCP_AIO_LANG=en", "XDG_RUNTIME_DIR="+dir, "SOME_OTHER_TOKEN=x", "NO_PROXY=*")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, _ := cmd.Output() // it exits with 4
	var findings []struct{ What, Detail, Fix string }
	must.Parse(t, out, &findings)
	said := map[string]string{}
	for _, f := range findings {
		said[f.What] = f.Fix
		if strings.Contains(f.Detail+f.Fix, "SOME_OTHER_TOKEN") {
			t.Errorf("%s is offered a variable that has nothing to do with it: %s", f.What, f.Detail)
		}
	}
	for name, c := range cases {
		t.Run("true/12 "+name, func(t *testing.T) {
			if !regexp.MustCompile(c[1]).MatchString(said[name]) {
				t.Errorf("the fix is %q, want %s", said[name], c[1])
			}
		})
	}
}

// TestDoctorDoesNotWaitForSilence asks a gateway about a server that accepts
// connections and never answers. The state known to the gateway must be shown
// immediately.
func TestDoctorDoesNotWaitForSilence(t *testing.T) {
	t.Run("true/12 at once", func(t *testing.T) {
		ended := make(chan struct{})
		silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}))
		t.Cleanup(func() { close(ended); silent.Close() })
		file := mcptest.WriteConfig(t, `{"mcpServers":{"silent":{"url":"`+silent.URL+`/mcp"}}}`)
		p := mcptest.Product(t, "http", "--mcp-config", file, "--port", "0")
		mcptest.Start(t, p).Listening()
		cmd := exec.CommandContext(t.Context(), p.Path, "doctor", "-c", file)
		cmd.Env = append(append(os.Environ(), p.Env...), "MCP_AIO_LANG=en")
		began := time.Now()
		out, _ := cmd.Output() // it exits with 4
		if !strings.Contains(string(out), "it has not answered for") {
			t.Errorf("doctor says %s", out)
		}
		if took := time.Since(began); took > 8*time.Second { // a connection step may take 10 s
			t.Errorf("doctor took %v", took)
		}
	})
}
