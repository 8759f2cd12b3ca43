package mcphttp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/corpus"
)

// An httpRow is one request of testdata/corpus/H; its README explains it.
type httpRow struct {
	ID, Case, Method, Target, Body, Host, Raw string
	HangUp                                    bool
	Header                                    []string
	Want                                      struct {
		Status []int
		Code   int
		Header []string
	}
}

func (r *httpRow) name() string {
	if r.Case == "" {
		return "corpus/" + r.ID
	}
	return "corpus/" + r.ID + "/" + r.Case
}

// request renders the row as bytes.
func (r *httpRow) request() string {
	if r.Raw != "" {
		return r.Raw
	}
	or := func(s, def string) string {
		if s == "" {
			return def
		}
		return s
	}
	body := map[string]string{
		"": callBody(1, "echo", "x", 0), "session": callBody(1, "echo", "x", 0), "modern": modernCall(1, "echo", "x", 0), "none": "",
	}
	text, known := body[r.Body]
	if !known {
		text = r.Body
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nConnection: close\r\n", or(r.Method, "POST"), or(r.Target, "/mcp"))
	if r.Host != "-" {
		fmt.Fprintf(&b, "Host: %s\r\n", or(r.Host, "127.0.0.1:{port}"))
	}
	typed := slices.ContainsFunc(r.Header, func(h string) bool { return strings.HasPrefix(h, "Content-Type:") })
	if text != "" && !typed {
		b.WriteString("Content-Type: application/json\r\n")
	}
	for _, h := range r.Header {
		b.WriteString(h + "\r\n")
	}
	if text != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(text))
	}
	return b.String() + "\r\n" + text
}

func TestCorpusHTTP(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	session := w.initialize(mcp.V2025_11_25)
	foreign := w.initialize(mcp.V2025_11_25, "Test-Principal", "somebody else")
	port := w.url[strings.LastIndex(w.url, ":")+1 : strings.LastIndex(w.url, "/")]
	fill := strings.NewReplacer("{port}", port, "{session}", session, "{foreign}", foreign)
	for _, row := range corpus.Rows[httpRow](t, "../../testdata/corpus/H/*.json") {
		t.Run(row.name(), func(t *testing.T) {
			a, err := w.raw(fill.Replace(row.request()), row.HangUp)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(row.Want.Status, a.status) {
				t.Errorf("status %d, want %v: %s", a.status, row.Want.Status, a.body)
			}
			if row.Want.Code != 0 && a.code() != row.Want.Code {
				t.Errorf("code %d, want %d: %s", a.code(), row.Want.Code, a.body)
			}
			for _, name := range row.Want.Header {
				name, absent := strings.CutPrefix(name, "-")
				if (a.header.Get(name) == "") != absent {
					t.Errorf("header %s: %q", name, a.header.Get(name))
				}
			}
			if a := w.post(callBody(9, "echo", "alive", 0), "Mcp-Session-Id", session); a.status != 200 || !strings.Contains(a.body, "alive") {
				t.Errorf("afterwards: %d %s", a.status, a.body)
			}
		})
	}
}
