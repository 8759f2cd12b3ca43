package inbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/time/rate"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
)

const (
	// maxUnsent bounds the queue of messages; further messages are dropped.
	maxUnsent = 32
	// sendTime is the timeout for sending a message.
	sendTime = 10 * time.Second
	// messageRate and messageBurst bound how often one principal can make a
	// phone ring. Messages caused by other principals are not affected.
	messageRate  = rate.Limit(0.2)
	messageBurst = 10
	// maxLimits bounds the number of principals with their own rate limit.
	maxLimits = 1000
	// maxShown is the maximum length of a name in a message.
	maxShown = 40
)

// A Webhook sends a message when a question, or a server, waits for the user.
// The message contains a link and names the server and tool, but never the
// arguments or the entry: those may be secret and are shown only after signing
// in.
type Webhook struct {
	cfg    func() config.Inbox
	base   func() string // returns the address that the gateway listens on
	log    *slog.Logger
	client *http.Client
	unsent chan notice
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	limits map[string]*rate.Limiter // by principal
}

// NewWebhook returns a webhook that uses the current config. Call Close to end
// it.
func NewWebhook(cfg func() config.Inbox, base func() string, log *slog.Logger) *Webhook {
	ctx, stop := context.WithCancel(context.Background())
	h := &Webhook{
		cfg: cfg, base: base, log: log, client: safehttp.NewConfigured(sendTime),
		unsent: make(chan notice, maxUnsent), stop: stop, limits: map[string]*rate.Limiter{},
	}
	h.wg.Go(func() { h.run(ctx) })
	return h
}

// Close cancels pending messages and waits.
func (h *Webhook) Close() {
	h.stop()
	h.wg.Wait()
	h.client.CloseIdleConnections()
}

// A notice is the content of a message, and the path of its page below the
// Inbox.
type notice struct {
	Question
	path string
}

// Tell queues a message about a question.
func (h *Webhook) Tell(q Question) { h.tell(notice{q, q.ID}) }

// A Pending is a server that waits for approval: of its entry, or of changed
// definitions if Tools is set. From is the principal that proposed it, "" if
// unknown. Hash identifies what is to be approved.
type Pending struct {
	Schema, Server, From, Hash string
	Tools                      bool
}

// Announce queues a message about a server that waits for approval.
func (h *Webhook) Announce(p Pending) {
	q := Question{Kind: kindServer, Server: p.Server, From: p.From, Asked: time.Now()}
	if p.Tools {
		q.Kind = kindTools
	}
	q.ID = p.Schema + "/" + p.Server + "-" + keyed([]byte(p.Hash))
	h.tell(notice{q, url.PathEscape(p.Schema) + "/" + url.PathEscape(p.Server)})
}

// The kinds of messages about servers.
const (
	kindServer = "server"
	kindTools  = "tools"
)

func (h *Webhook) tell(q notice) {
	if h.cfg().Webhook.URL == "" {
		return
	}
	if !h.limit(cmp.Or(q.From, q.Kind)).Allow() {
		h.log.Warn("no message was sent about what waits: there were too many", "server", q.Server, "tool", q.Tool)
		return
	}
	select {
	case h.unsent <- q:
	default:
		h.log.Warn("no message was sent about what waits: too many are to be sent", "server", q.Server, "tool", q.Tool)
	}
}

// limit returns the rate limit of a principal.
func (h *Webhook) limit(principal string) *rate.Limiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.limits[principal]
	if l == nil {
		if len(h.limits) >= maxLimits {
			clear(h.limits)
		}
		l = rate.NewLimiter(messageRate, messageBurst)
		h.limits[principal] = l
	}
	return l
}

func (h *Webhook) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-h.unsent:
			if err := h.send(ctx, &q); err != nil && ctx.Err() == nil {
				h.log.Warn("a message about what waits was not delivered", "server", q.Server, "tool", q.Tool, "err", err)
			}
		}
	}
}

// send sends one message. Errors do not contain the URL, because for many
// receivers the URL is a secret.
func (h *Webhook) send(ctx context.Context, q *notice) error {
	cfg := h.cfg()
	req, err := message(&cfg, h.base(), q)
	if err != nil {
		return i18n.Errorf("inbox.webhook.url is not a URL", "inbox.webhook.url 不是 URL")
	}
	resp, err := h.client.Do(req.WithContext(ctx))
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 != 2 {
		return i18n.Errorf("it was answered %s", "应答为 %s", resp.Status)
	}
	return nil
}

// message returns the request that sends a notice.
func message(cfg *config.Inbox, base string, q *notice) (*http.Request, error) {
	if cfg.Console != "" {
		base = strings.TrimSuffix(cfg.Console, "/")
	}
	link := base + "/ui/inbox/" + q.path
	text := says(&q.Question).In(i18n.ByTag(cfg.Webhook.Language))
	kind, body := "application/json", []byte(nil)
	var err error
	switch cfg.Webhook.Format {
	case "ntfy":
		kind, body = "text/plain; charset=utf-8", []byte(text)
	case "slack":
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
		body, err = json.Marshal(map[string]string{"text": escaped + "\n<" + link + ">"})
	default:
		body, err = json.Marshal(struct {
			ID       string    `json:"id"`
			Kind     string    `json:"kind"`
			Server   string    `json:"server,omitempty"`
			Tool     string    `json:"tool,omitempty"`
			Client   string    `json:"client,omitempty"`
			From     string    `json:"from,omitempty"`
			Asked    time.Time `json:"asked"`
			Deadline time.Time `json:"deadline,omitzero"`
			Text     string    `json:"text"`
			Link     string    `json:"link"`
		}{q.ID, q.Kind, q.Server, q.Tool, q.Client, q.From, q.Asked, q.Deadline, text, link})
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, cfg.Webhook.URL.Reveal(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	if cfg.Webhook.Format == "ntfy" {
		req.Header.Set("Title", "mcp-all-in-one")
		req.Header.Set("Click", link)
	}
	for name, value := range cfg.Webhook.Headers {
		req.Header.Set(name, value.Reveal())
	}
	return req, nil
}

// says returns the text of a message.
func says(q *Question) i18n.Text {
	server, tool, client := shown(q.Server), shown(q.Tool), shown(q.Client)
	switch {
	case q.Kind == "approval" && q.Client != "":
		return i18n.New("A call of %s of %s by %s waits for your yes.", "对 %s（%s）的调用等待你批准，调用者：%s。", tool, server, client)
	case q.Kind == "approval":
		return i18n.New("A call of %s of %s waits for your yes.", "对 %s（%s）的调用等待你批准。", tool, server)
	case q.Kind == kindServer:
		return i18n.New("The new server %s waits for your yes; it has not run.", "新服务器 %s 等待你批准，尚未运行。", server)
	case q.Kind == kindTools:
		return i18n.New("Tools of %s have changed and wait for your yes.", "%s 的工具已变更，等待你批准。", server)
	case q.Kind == "host":
		return i18n.New("%s was refused a host; you may allow it.", "%s 访问主机被拒绝，可由你允许。", server)
	case q.Kind == "share":
		return i18n.New("A client at %s asks for access to this gateway.", "%s 处的客户端请求访问此网关。", server)
	case q.Kind == "sampling":
		return i18n.New("%s asks for the answer of a model, which you may write.", "%s 请求模型作答，可由你填写。", server)
	}
	return i18n.New("%s asks you something.", "%s 向你提问。", server)
}

// shown returns the name of a server or client in quotes, reduced to letters,
// digits and a few other characters, so that it cannot form a link, a mention
// or markup.
func shown(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > maxShown {
			b.WriteRune('…')
			break
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" -_", r) {
			r = '·'
		}
		b.WriteRune(r)
	}
	return "“" + b.String() + "”"
}
