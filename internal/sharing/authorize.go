package sharing

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/web/page"
)

const (
	// maxOpen bounds the attempts that are under way. Anyone can begin one.
	maxOpen = 32
	// maxFetches bounds the documents of clients that are fetched at once.
	maxFetches = 4
	// patience is how long a person may take, away how long an attempt outlives
	// the page that waits for it, and codeLife how long a code can be used, and how
	// long it is known after that.
	patience = 10 * time.Minute
	away     = 2 * time.Minute
	codeLife = time.Minute
	// hold is how long a request of the page waits for the decision. The browser
	// shows the page until the answer comes, so it does not flicker, and no
	// script is needed.
	hold = 25 * time.Second
)

// An attempt is one request of a client for access.
type attempt struct {
	client    *client
	redirect  string
	state     string
	challenge string
	conf      config.Sharing // what the person was asked for
	shown     string         // the code that the person enters

	decided chan struct{} // closed when the person has decided

	// The rest is guarded by the mutex of the server.
	allowed bool
	expires time.Time
	stop    context.CancelFunc // withdraws the question
	key     string             // the key that the code was exchanged for
}

var challengeForm = lazy.Regexp(`^[A-Za-z0-9_-]{43}$`)

// authorize begins an attempt. Errors are shown here and not sent to the client:
// anyone can register an address, and a link to the gateway must not lead there
// before a person has decided (RFC 9700, section 4.11.2).
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, conf config.Sharing) {
	lang := i18n.ByTag(r.Header.Get("Accept-Language"))
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || repeats(q) {
		page.Write(w, lang, http.StatusBadRequest, i18n.New("The request of the client cannot be read.", "无法读取客户端的请求。"), "")
		return
	}
	c, err := s.find(r.Context(), q.Get("client_id"), conf)
	if err != nil {
		s.log.Info("a client that wants access was refused", "err", err)
		page.Write(w, lang, http.StatusBadRequest, i18n.New("The client cannot be recognized; the log of the gateway says why.", "无法识别该客户端；原因见网关日志。"), "")
		return
	}
	if !c.allows(q.Get("redirect_uri")) {
		page.Write(w, lang, http.StatusBadRequest, i18n.New("The client wants the answer at an address that is not its own.", "客户端要求将结果发送到不属于它的地址。"), "")
		return
	}
	a := &attempt{client: c, redirect: q.Get("redirect_uri"), state: q.Get("state"), challenge: q.Get("code_challenge"), conf: conf, shown: sixDigits(), decided: make(chan struct{})}
	switch resource := q.Get("resource"); {
	case q.Get("response_type") != "code":
		fail(w, lang, http.StatusBadRequest, "unsupported_response_type")
	case q.Get("code_challenge_method") != "S256" || !challengeForm().MatchString(a.challenge):
		fail(w, lang, http.StatusBadRequest, "invalid_request: PKCE, S256")
	case resource != "" && !sameResource(resource, conf):
		fail(w, lang, http.StatusBadRequest, "invalid_target: "+conf.Resource())
	default:
		s.begin(w, r, lang, a)
	}
}

// fail shows an error of OAuth, for the author of the client.
func fail(w http.ResponseWriter, lang i18n.Lang, status int, code string) {
	page.Write(w, lang, status, i18n.New("The gateway does not accept the request of the client (%s).", "网关不接受客户端的请求（%s）。", code), "")
}

// repeats reports whether a parameter is there twice, which OAuth forbids: two
// readers could take different ones.
func repeats(q url.Values) bool {
	for _, values := range q {
		if len(values) > 1 {
			return true
		}
	}
	return false
}

func sameResource(text string, conf config.Sharing) bool {
	return strings.TrimSuffix(text, "/") == conf.Resource() || strings.TrimSuffix(text, "/") == conf.URL
}

func sixDigits() string {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		panic(err) // it never fails
	}
	return fmt.Sprintf("%06d", n)
}

// begin asks the person and leads the browser to a page that waits.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, lang i18n.Lang, a *attempt) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	id := rand.Text() + s.mark
	a.stop, a.expires = cancel, time.Now().Add(away)
	s.mu.Lock()
	s.sweepLocked()
	full := len(s.waiting) >= maxOpen
	if !full {
		s.waiting[id] = a
	}
	s.mu.Unlock()
	if full {
		cancel()
		fail(w, lang, http.StatusServiceUnavailable, "temporarily_unavailable")
		return
	}
	s.asking.Go(func() {
		defer cancel()
		req := Request{Host: a.host(), Name: a.client.shown(), Code: a.shown, Sharing: a.conf}
		if !strings.HasPrefix(a.client.ID, registered) {
			req.ID = a.client.ID
		}
		allowed := s.ask(ctx, req)
		s.log.Info("a client wanted access", "host", req.Host, "name", req.Name, "id", req.ID, "allowed", allowed)
		s.mu.Lock()
		a.allowed = allowed
		s.mu.Unlock()
		close(a.decided)
	})
	http.Redirect(w, r, waitPath+"?id="+id, http.StatusSeeOther)
}

// sweepLocked forgets the attempts whose browser has gone, and the old codes.
func (s *Server) sweepLocked() {
	now := time.Now()
	for _, open := range []map[string]*attempt{s.waiting, s.codes} {
		for id, a := range open {
			if now.After(a.expires) {
				a.stop()
				delete(open, id)
			}
		}
	}
}

const waitHTML = `<h1>%s</h1>
<p>%s</p>
<p><output>%s</output></p>
<p>%s</p>`

// wait shows the code to the person, until the person has decided.
func (s *Server) wait(w http.ResponseWriter, r *http.Request) {
	lang, id := i18n.ByTag(r.Header.Get("Accept-Language")), r.URL.Query().Get("id")
	a := s.attempt(id)
	if a != nil && r.URL.Query().Has("again") {
		ctx, cancel := context.WithTimeout(r.Context(), hold)
		defer cancel()
		select {
		case <-a.decided:
		case <-ctx.Done():
		}
	}
	a, done, code := s.decision(id)
	switch {
	case a == nil:
		page.Write(w, lang, http.StatusNotFound, i18n.New("This page is too old. Connect again in your client.", "此页面已过期。请在客户端中重新连接。"), "")
	case code != "":
		a.send(w, r, "", code)
	case done:
		a.send(w, r, "access_denied", "")
	default:
		a.show(w, lang, id)
	}
}

// attempt returns the attempt of a page, which is then known to be open.
func (s *Server) attempt(id string) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweepLocked()
	a := s.waiting[id]
	if a != nil {
		a.expires = time.Now().Add(away)
	}
	return a
}

// decision returns whether the person has decided, and the code of a client that
// may have access. A decision is returned once.
func (s *Server) decision(id string) (a *attempt, done bool, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a = s.waiting[id]
	if a == nil {
		return nil, false, ""
	}
	select {
	case <-a.decided:
	default:
		return a, false, ""
	}
	delete(s.waiting, id)
	if a.allowed {
		code = rand.Text() + rand.Text() + s.mark
		a.expires = time.Now().Add(codeLife)
		s.codes[code] = a
	}
	return a, true, code
}

// show writes the page that waits.
func (a *attempt) show(w http.ResponseWriter, lang i18n.Lang, id string) {
	w.Header().Set("Refresh", "1; url="+waitPath+"?again&id="+id)
	title := i18n.New("%s asks for access to this gateway", "%s 请求访问此网关", a.host())
	text := a.what().In(lang)
	if name := a.client.shown(); name != "" {
		text = i18n.New("It calls itself “%s”. ", "它自称“%s”。", name).In(lang) + text
	}
	body := fmt.Sprintf(waitHTML, html.EscapeString(title.In(lang)), html.EscapeString(text), a.shown[:3]+" "+a.shown[3:],
		html.EscapeString(i18n.New("If you have just connected this client, enter the code in the Inbox of the console, or run: mcp-all-in-one inbox. This page goes on by itself.",
			"如果是你刚刚连接此客户端，请在控制台的“待办”中输入此验证码，或运行：mcp-all-in-one inbox。此页面会自动继续。").In(lang)))
	page.Write(w, lang, http.StatusOK, title, body)
}

// host returns the host that gets the access. A person can judge a host; the name
// of a client proves nothing, because any client can choose it.
func (a *attempt) host() string {
	u, err := url.Parse(a.redirect)
	if err != nil {
		return a.redirect
	}
	return u.Hostname()
}

// what says what the client would get.
func (a *attempt) what() i18n.Text {
	if a.conf.Write {
		return i18n.New("It could call every tool of the schema %s for %d days.", "它可以在 %[2]d 天内调用 schema %[1]s 的所有工具。", a.conf.Schema, a.conf.Days)
	}
	return i18n.New("It could call the read-only tools of the schema %s for %d days.", "它可以在 %[2]d 天内调用 schema %[1]s 的只读工具。", a.conf.Schema, a.conf.Days)
}

// send sends the browser to the client with a code or an error. iss tells the
// client whose answer it is (RFC 9207).
func (a *attempt) send(w http.ResponseWriter, r *http.Request, fault, code string) {
	u, err := url.Parse(a.redirect)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	q := u.Query()
	q.Set("iss", a.conf.URL)
	if a.state != "" {
		q.Set("state", a.state)
	}
	if fault != "" {
		q.Set("error", fault)
	} else {
		q.Set("code", code)
	}
	u.RawQuery = q.Encode()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, u.String(), http.StatusSeeOther)
}
