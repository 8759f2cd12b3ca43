package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
)

// Kept replaces a secret: the API shows Kept instead of the value, and saving
// an entry with Kept leaves the stored value unchanged.
const Kept = "***"

var (
	// ErrNotFound is returned by a backend for an unknown name.
	ErrNotFound = i18n.Errorf("not found", "未找到")
	// ErrChanged is returned if the change is not the one that was shown.
	ErrChanged = i18n.Errorf("the file has changed since; look at the difference again", "文件已被修改；请重新查看差异")
	// ErrOwnRequest is returned to a principal that tries to approve its own
	// request.
	ErrOwnRequest = i18n.Errorf("you asked for this yourself; another person has to approve it", "这是你自己提出的请求，须由他人批准")
)

// A Refusal is the body of every error response.
type Refusal struct {
	Error ErrorBody `json:"error"`
}

// An ErrorBody explains why a request was refused.
type ErrorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Run is the command that the request would start. The client confirms it
	// by sending it back as confirm.
	Run string `json:"run,omitempty"`
}

// Fail refuses a request, in the language of the client.
func Fail(w http.ResponseWriter, r *http.Request, status int, code string, message i18n.Text) {
	Reply(w, status, Refusal{ErrorBody{Code: code, Message: message.In(langOf(r))}})
}

// FailWith answers with an error that a backend returned.
func FailWith(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrNotFound) {
		Fail(w, r, http.StatusNotFound, "not_found", i18n.Why(err))
		return
	}
	if errors.Is(err, ErrOwnRequest) {
		Fail(w, r, http.StatusForbidden, "own_request", i18n.Why(err))
		return
	}
	if errors.Is(err, ErrChanged) || errors.Is(err, record.ErrChanged) {
		Fail(w, r, http.StatusConflict, "changed", i18n.Why(err))
		return
	}
	if not := (*NotConfirmed)(nil); errors.As(err, &not) {
		Reply(w, http.StatusConflict, Refusal{ErrorBody{Code: "confirm", Message: not.In(langOf(r)), Run: not.Run}})
		return
	}
	Fail(w, r, http.StatusUnprocessableEntity, "refused", i18n.Why(err))
}

// A NotConfirmed is returned for a change that would run commands, one per line
// of Run, which the user has not confirmed.
type NotConfirmed struct{ Run string }

func (e *NotConfirmed) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *NotConfirmed) In(l i18n.Lang) string {
	return i18n.New("this will run a command", "此操作将运行一条命令").In(l)
}

// Reply answers with v as JSON.
func Reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if v != nil {
		// A failed write means that the client has disconnected.
		_ = json.NewEncoder(w).Encode(v)
	}
}

// Answer returns a handler that sends the result of f. A nil result sends no
// content; an error refuses the request.
func Answer(f func(r *Request) (any, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *Request) {
		switch answer, err := f(r); {
		case err != nil:
			FailWith(w, r.Request, err)
		case answer == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			Reply(w, http.StatusOK, answer)
		}
	}
}

// Confirmed reports whether the request may run a command. It refuses a request
// that does not repeat the command in confirm, because the page must have shown
// it to the user.
func Confirmed(w http.ResponseWriter, r *Request, command string, args []string, confirm string) bool {
	if command == "" {
		return true
	}
	run := i18n.Command(append([]string{command}, args...)...)
	if confirm == run {
		return true
	}
	FailWith(w, r.Request, &NotConfirmed{run})
	return false
}

// RefuseDirect refuses a connection that bypasses the gateway.
func RefuseDirect(w http.ResponseWriter, r *Request) {
	Fail(w, r.Request, http.StatusForbidden, "scope", i18n.New("a direct connection needs the scope %s; name a configured server and use via: gateway",
		"直接连接需要权限 %s；请指定已配置的服务器并使用 via: gateway", ScopeAdmin))
}
