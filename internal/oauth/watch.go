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

// A Step is one request of a sign-in, with secrets masked.
type Step struct {
	// Hop says who sent the request: the gateway to the server (server) or to the
	// authorization server (authority), or the browser to the sign-in page
	// (browser) or back to the gateway (callback).
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

// maxStepBody limits how much of a body is shown.
const maxStepBody = 16 << 10

// secretMembers are masked in forms, JSON and URLs.
var secretMembers = []string{"code", "code_verifier", "client_secret", "access_token", "refresh_token", "id_token", "registration_access_token"}

const hidden = "***"

// watched reports every request.
type watched struct {
	next http.RoundTripper
	hop  string
	tell func(Step)
	mask []string // headers from the configuration
}

// watch wraps a transport so that tell gets every request; if tell is nil, it
// returns next.
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

// rest is a body whose first bytes were read already.
type rest struct {
	io.Reader
	io.Closer
}

// failing returns the error of a read; io.EOF if there was none.
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

// shownBody returns a form or JSON object with secrets masked. Other bodies are
// left out, because their secrets cannot be found.
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
