package oauth

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Step is one request of a sign-in, with what is secret in it replaced.
type Step struct {
	// Hop is who asked whom: server and authority are asked by the gateway,
	// browser is what the person's browser is sent to, callback what it brings
	// back.
	Hop     string            `json:"hop"`
	At      time.Time         `json:"at"`
	Took    time.Duration     `json:"took,omitempty"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Status  int               `json:"status,omitempty"`
	Header  map[string]string `json:"header,omitempty"`
	Body    string            `json:"body,omitempty"`
	Answer  map[string]string `json:"answer,omitempty"`
	Content string            `json:"content,omitempty"`
	Error   string            `json:"error,omitempty"`
}

// The hops of a sign-in.
const (
	HopServer    = "server"
	HopAuthority = "authority"
	HopBrowser   = "browser"
	HopCallback  = "callback"
)

// maxStepBody bounds what is kept of a body.
const maxStepBody = 16 << 10

// secretMembers are never shown, in forms, JSON and addresses.
var secretMembers = []string{"code", "code_verifier", "client_secret", "access_token", "refresh_token", "id_token", "registration_access_token"}

const hidden = "***"

// watched tells every request that passes.
type watched struct {
	next http.RoundTripper
	hop  string
	tell func(Step)
	mask []string // headers that the configuration has
}

// watch puts the teller around a transport; without one it is the transport.
func watch(next http.RoundTripper, hop string, tell func(Step), mask ...string) http.RoundTripper {
	if tell == nil {
		return next
	}
	return &watched{next, hop, tell, mask}
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	s := Step{Hop: w.hop, At: time.Now(), Method: r.Method, URL: shownURL(r.URL), Header: shownHeader(r.Header, w.mask)}
	if r.Body != nil {
		sent, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(sent), r.Body))
		s.Body = shownBody(sent, r.Header.Get("Content-Type"))
	}
	resp, err := w.next.RoundTrip(r)
	s.Took = time.Since(s.At)
	if err != nil {
		s.Error = err.Error()
		w.tell(s)
		return nil, err
	}
	s.Status, s.Answer = resp.StatusCode, shownHeader(resp.Header, nil)
	head, rerr := io.ReadAll(io.LimitReader(resp.Body, maxStepBody))
	resp.Body = &rest{io.MultiReader(bytes.NewReader(head), failing{rerr}, resp.Body), resp.Body}
	s.Content = shownBody(head, resp.Header.Get("Content-Type"))
	w.tell(s)
	return resp, nil
}

// rest is a body whose head was read.
type rest struct {
	io.Reader
	io.Closer
}

// failing repeats the error of a read; nil ends.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

func shownHeader(h http.Header, mask []string) map[string]string {
	out := make(map[string]string, len(h))
	for name := range h {
		out[name] = h.Get(name)
		secret := slices.Contains([]string{"Authorization", "Cookie", "Set-Cookie", "Proxy-Authorization"}, name)
		if secret || slices.ContainsFunc(mask, func(m string) bool { return strings.EqualFold(m, name) }) {
			out[name] = hidden
		}
	}
	return out
}

func shownURL(u *url.URL) string {
	shown := *u
	shown.User = nil
	shown.RawQuery = shownForm(u.Query())
	return shown.String()
}

func shownForm(values url.Values) string {
	for _, name := range secretMembers {
		if values.Has(name) {
			values.Set(name, hidden)
		}
	}
	return strings.ReplaceAll(values.Encode(), url.QueryEscape(hidden), hidden)
}

// shownBody is a form or JSON without its secrets; what is neither is left out,
// because nobody knows what is in it.
func shownBody(body []byte, kind string) string {
	switch {
	case len(body) == 0:
		return ""
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return ""
		}
		return shownForm(values)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return ""
	}
	for _, name := range secretMembers {
		if _, ok := object[name]; ok {
			object[name] = json.RawMessage(`"` + hidden + `"`)
		}
	}
	shown, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(shown)
}
