package httpclient

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

const maxErrorBody = 64 << 10

// ErrStreamEnded is the error of a call whose stream ended before the response and
// could not be resumed.
var ErrStreamEnded = i18n.Errorf("the server ended the stream before its answer", "服务器在应答之前结束了流")

// LikelyURL returns the URL that was probably meant if nothing is at raw: most
// servers are at /mcp, beside the path that was given, or below it if that names a
// schema or a server of a gateway. It is empty if raw is such a URL already. It
// has no password.
func LikelyURL(raw string) string {
	at, err := url.Parse(raw)
	if err != nil || strings.HasSuffix(strings.TrimSuffix(at.Path, "/"), "/mcp") {
		return ""
	}
	if parent := path.Base(path.Dir(at.Path)); (parent == "api" || parent == "s") && path.Base(at.Path) != "sse" {
		at = at.JoinPath("/") // its last part is kept
	}
	return at.ResolveReference(&url.URL{Path: "mcp"}).Redacted()
}

// A StatusError is a response with a status other than 2xx.
type StatusError struct {
	Status int
	Header http.Header
	// Body holds at most 64 KiB.
	Body []byte
	// Modern says that only a server of 2026-07-28 or newer sends the error in the
	// body.
	Modern bool
}

func (e *StatusError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *StatusError) In(l i18n.Lang) string {
	text := i18n.New("the server answered %d %s", "服务器返回 %d %s", e.Status, http.StatusText(e.Status))
	if e.Status/100 == 3 {
		if to, err := url.Parse(e.Header.Get("Location")); err == nil && to.Host != "" {
			text = i18n.New("%v, a redirect to %s://%s that is not followed", "%v，重定向到 %s://%s，不会跟随", text, to.Scheme, to.Host)
		}
	}
	if why, ok := jsonrpc.GetString(e.Body, "error", "message"); ok && jsonrpc.Valid(e.Body) {
		text = i18n.New("%v: %.200s", "%v：%.200s", text, why)
	}
	return text.In(l)
}

// An AnswerError is a 2xx response that is not MCP.
type AnswerError struct {
	Reason      i18n.Text
	ContentType string // the media type of the response
}

func (e *AnswerError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *AnswerError) In(l i18n.Lang) string {
	if e.ContentType != "" {
		return i18n.New("%v (%s)", "%v（%s）", e.Reason, e.ContentType).In(l)
	}
	return e.Reason.In(l)
}

// Unwrap returns jsonrpc.ErrBadAnswer.
func (e *AnswerError) Unwrap() error { return jsonrpc.ErrBadAnswer }

// NotSent reports whether an error of Call or Notify means that no byte of the
// message has reached the server.
func NotSent(err error) bool {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	var unwritten *http1.NotSentError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &certificate) || errors.As(err, &unwritten)
}

// newStatusError reads the body of a response that is not 2xx.
func newStatusError(resp *http.Response) *StatusError {
	return &StatusError{Status: resp.StatusCode, Header: resp.Header, Body: readHead(resp.Body, maxErrorBody)}
}

// refused returns the result of a request that was answered with a status other
// than 2xx.
func (x *exchange) refused(resp *http.Response) (*jsonrpc.Response, error) {
	status := newStatusError(resp)
	msg, bad := jsonrpc.ScanAnswer(status.Body, nil)
	if bad != nil || msg.Kind != jsonrpc.KindError {
		return nil, status
	}
	answered := jsonrpc.ParseError(msg.Err)
	status.Modern = modernError(status.Status, answered.Code, x.isOurs(msg.ID))
	return &jsonrpc.Response{Err: answered}, status
}

// modernError reports whether only a modern server sends such an error: a new code,
// or an old code with the status that the modern transport prescribes (a legacy
// server sends those with 200).
func modernError(status int, code int64, ours bool) bool {
	switch code {
	case mcp.CodeHeaderMismatch, mcp.CodeCapabilityMissing, mcp.CodeVersionUnsupported:
		return true
	case jsonrpc.CodeMethodNotFound:
		return ours && status == http.StatusNotFound
	case jsonrpc.CodeInvalidParams:
		return ours && status == http.StatusBadRequest
	}
	return false
}

func mediaType(contentType string) string {
	mt, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(mt))
}
