package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
)

// A Model answers chat completions.
type Model interface {
	Ask(ctx context.Context, q *Question) (*Reply, error)
}

// A Question is one request with its position in the evals.
type Question struct {
	Eval, Mode string
	Run, Turn  int
	Body       []byte
}

// A Reply is a chat completion and its duration.
type Reply struct {
	Body json.RawMessage
	Took time.Duration
}

// Kind is the reason why a model cannot be reached.
type Kind int

const (
	Unreachable Kind = iota
	Unauthorized
	NotThere // unknown address or model
	Busy
	Malformed  // the answer is not a chat completion
	Unrecorded // the recording does not contain the answer
)

// A StopError means that the model cannot be reached, so that all further runs
// would fail.
type StopError struct {
	Kind Kind
	text i18n.Text
}

func (e *StopError) Error() string           { return e.text.String() }
func (e *StopError) In(l i18n.Lang) string   { return e.text.In(l) }
func stop(k Kind, text i18n.Text) *StopError { return &StopError{k, text} }

// A RefusedError means that one request failed. The failure counts for the mode
// of the request, which may list too many tools, for example.
type RefusedError struct{ text i18n.Text }

func (e *RefusedError) Error() string         { return e.text.String() }
func (e *RefusedError) In(l i18n.Lang) string { return e.text.In(l) }

const (
	// maxAnswer limits the size of an answer.
	maxAnswer = 8 << 20
	// tries is how often a busy model is asked; longestWait limits the wait
	// that it may request in between.
	tries       = 4
	longestWait = time.Minute
	// minSecret is the minimum length of a key that is hidden: a shorter one
	// could be any word.
	minSecret = 8
	// Patience is the default time limit of one answer.
	Patience = 2 * time.Minute
)

// An API is a model at an HTTP address.
type API struct {
	endpoint string
	// shown is the address for messages, with variables: a variable may be a
	// key.
	shown    string
	key      config.Secret
	quoted   *regexp.Regexp // matches the key as an API may quote it; nil for none
	patience time.Duration
	client   *http.Client
	// pause is the first wait if the API does not say how long.
	pause time.Duration
}

// NewAPI returns the model at an address, without /chat/completions. written is
// the address before its variables were replaced.
func NewAPI(address, written string, key config.Secret, patience time.Duration) (*API, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, i18n.Errorf("the address of the model is not a URL: %q", "模型地址不是 URL：%q", written)
	}
	if u.User != nil {
		return nil, i18n.Errorf("the address of the model has a password in it; use the key", "模型地址中包含密码；请使用 key")
	}
	if patience <= 0 {
		patience = Patience
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/chat/completions"), "/") + "/chat/completions"
	m := &API{endpoint: u.String(), shown: written, key: key, patience: patience, client: safehttp.NewConfigured(0), pause: time.Second}
	if written == address {
		m.shown = m.endpoint
	}
	if len(key) >= minSecret {
		m.quoted = quoting(key.Reveal())
	}
	return m, nil
}

// quoting matches a text in all its JSON spellings, also as JSON within a JSON
// string.
func quoting(text string) *regexp.Regexp {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `(?:\\*%s|\\+u(?i:%04x))`, regexp.QuoteMeta(string(r)), r)
	}
	return regexp.MustCompile(b.String())
}

// Ask sends a question, and repeats it while the API is busy.
func (m *API) Ask(ctx context.Context, q *Question) (*Reply, error) {
	pause := m.pause
	for n := 1; ; n++ {
		reply, wait, err := m.post(ctx, q.Body)
		if wait == nil {
			return reply, err
		}
		if *wait < 0 {
			*wait, pause = pause, 2*pause
		}
		if n == tries || *wait > longestWait {
			return nil, err
		}
		select {
		case <-time.After(*wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// post sends a request once. wait is set if the request may be repeated: after
// that time, or negative if the API does not say.
func (m *API) post(ctx context.Context, body []byte) (reply *Reply, wait *time.Duration, err error) {
	limited, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, m.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key := m.key.Reveal(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	began := time.Now()
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, nil, m.broken(ctx, limited, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, nil, m.broken(ctx, limited, err)
	case len(raw) > maxAnswer:
		return nil, nil, stop(Malformed, i18n.New("the answer of %s is over the limit of %d MB", "%s 的应答超过 %d MB 的上限", m.shown, maxAnswer>>20))
	case resp.StatusCode == http.StatusOK:
		return &Reply{Body: json.RawMessage(m.hide(raw)), Took: time.Since(began)}, nil, nil
	}
	err = m.status(resp, raw)
	if isBusy(resp.StatusCode) {
		after := retryAfter(resp.Header.Get("Retry-After"))
		return nil, &after, err
	}
	return nil, nil, err
}

// broken returns the error for an exchange that did not complete. A timeout
// affects the run; any other error affects the address.
func (m *API) broken(ctx, limited context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if limited.Err() != nil {
		return &RefusedError{i18n.New("no answer within %v", "%v 内没有应答", m.patience)}
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err // the url.Error repeats the address
	}
	why := i18n.Pair(m.clip(err.Error()), m.clip(i18n.Chinese.Of(err)))
	return stop(Unreachable, i18n.New("%s cannot be reached: %v", "无法连接 %s：%v", m.shown, why))
}

// isBusy reports whether a status asks for a retry.
func isBusy(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter parses the time to wait: seconds or a date; negative if there is
// none.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return -1
}

// status returns the error for an answer that is not a completion.
func (m *API) status(resp *http.Response, raw []byte) error {
	said := m.said(raw)
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if m.key == "" {
			return stop(Unauthorized, i18n.New("%s wants a key (HTTP %d)%s", "%s 需要密钥（HTTP %d）%s", m.shown, code, said))
		}
		return stop(Unauthorized, i18n.New("%s refused the key (HTTP %d)%s", "%s 拒绝了密钥（HTTP %d）%s", m.shown, code, said))
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return stop(NotThere, i18n.New("%s has no such model, or is not the address of an API (HTTP %d)%s", "%s 没有该模型，或不是 API 的地址（HTTP %d）%s", m.shown, code, said))
	case code >= 300 && code < 400:
		return stop(NotThere, i18n.New("%s leads to %s, which is not followed: the key is for the first alone", "%s 重定向到 %s；不会跟随，因为密钥只用于前者", m.shown, m.clip(resp.Header.Get("Location"))))
	case isBusy(code):
		after := ""
		if text := resp.Header.Get("Retry-After"); text != "" {
			after = ", Retry-After: " + m.clip(text)
		}
		return stop(Busy, i18n.New("%s is busy or broken (HTTP %d%s)%s", "%s 繁忙或出错（HTTP %d%s）%s", m.shown, code, after, said))
	case code >= 400 && code < 500:
		return &RefusedError{i18n.New("the API refused the request (HTTP %d)%s", "API 拒绝了请求（HTTP %d）%s", code, said)}
	default:
		return stop(Malformed, i18n.New("%s answered HTTP %d%s", "%s 应答 HTTP %d%s", m.shown, code, said))
	}
}

// said returns the API's error message after a colon; empty if there is none.
// It never contains the key.
func (m *API) said(raw []byte) string {
	var body struct {
		Error   json.RawMessage
		Message string
		Detail  string
	}
	text := string(raw)
	if json.Unmarshal(raw, &body) == nil {
		var inner struct{ Message string }
		switch {
		case json.Unmarshal(body.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		case json.Unmarshal(body.Error, &text) == nil && text != "":
		case body.Message+body.Detail != "":
			text = body.Message + body.Detail
		default:
			text = string(raw)
		}
	}
	if text = m.clip(text); text == "" {
		return ""
	}
	return ": " + text
}

// clip shortens a text of the API and removes the key.
func (m *API) clip(text string) string { return clip(string(m.hide([]byte(text)))) }

// hide replaces the key in case the API quotes it.
func (m *API) hide(raw []byte) []byte {
	if m.quoted == nil {
		return raw
	}
	return m.quoted.ReplaceAllLiteral(raw, []byte("…"))
}
