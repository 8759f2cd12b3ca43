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
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	Reply(w, status, Refusal{ErrorBody{Code: code, Message: message.In(langOf(r))}})
}

// FailWith answers with an error that a backend or a handler returned.
func FailWith(w http.ResponseWriter, r *http.Request, err error) {
	if e, ok := errors.AsType[*refused](err); ok {
		Fail(w, r, e.status, e.code, e.message)
		return
	}
	if not, ok := errors.AsType[*NotConfirmed](err); ok {
		Reply(w, http.StatusConflict, Refusal{ErrorBody{Code: "confirm", Message: not.In(langOf(r)), Run: not.Run}})
		return
	}
	status, code := http.StatusUnprocessableEntity, "refused"
	switch {
	case errors.Is(err, ErrNotFound):
		status, code = http.StatusNotFound, "not_found"
	case errors.Is(err, ErrOwnRequest):
		status, code = http.StatusForbidden, "own_request"
	case errors.Is(err, ErrChanged) || errors.Is(err, record.ErrChanged):
		status, code = http.StatusConflict, "changed"
	}
	Fail(w, r, status, code, i18n.Why(err))
}

// refused is an error with a status and a code of its own.
type refused struct {
	status  int
	code    string
	message i18n.Text
}

func (e *refused) Error() string { return e.In(i18n.English) }

func (e *refused) In(l i18n.Lang) string { return e.message.In(l) }

// Refuse returns an error that is answered with a status and a code.
func Refuse(status int, code string, message i18n.Text) error {
	return &refused{status, code, message}
}

// NotFound returns an error for something that does not exist, or not any more.
func NotFound(message i18n.Text) error { return Refuse(http.StatusNotFound, "not_found", message) }

// BadRequest returns an error for a request that cannot be understood.
func BadRequest(message i18n.Text) error {
	return Refuse(http.StatusBadRequest, "bad_request", message)
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

// With returns a result that is sent with a status of its own.
func With(status int, v any) HandlerFunc {
	return func(w http.ResponseWriter, _ *Request) { Reply(w, status, v) }
}

// answer returns a handler that sends the result of f; an error refuses the
// request.
func answer(f AnswerFunc) HandlerFunc {
	return func(w http.ResponseWriter, r *Request) {
		result, err := f(r)
		if err != nil {
			FailWith(w, r.Request, err)
			return
		}
		switch result := result.(type) {
		case nil:
			w.WriteHeader(http.StatusNoContent)
		case HandlerFunc:
			result(w, r)
		default:
			Reply(w, http.StatusOK, result)
		}
	}
}

// Confirm returns an error unless the request may run a command. The request has
// to repeat the command in confirm, because the page must have shown it to the
// user.
func Confirm(command string, args []string, confirm string) error {
	if command == "" {
		return nil
	}
	if run := i18n.Command(append([]string{command}, args...)...); confirm != run {
		return &NotConfirmed{run}
	}
	return nil
}

// ErrDirect refuses a connection that bypasses the gateway.
var ErrDirect = Refuse(http.StatusForbidden, "scope", i18n.New("a direct connection needs the scope %s; name a configured server and use via: gateway",
	"直接连接需要权限 %s；请指定已配置的服务器并使用 via: gateway", ScopeAdmin))
