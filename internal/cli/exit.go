package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"mcp-all-in-one/internal/i18n"
)

// Exit codes. 3 to 6 are those of the official inspector's command line, so
// that scripts can move over.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitAuth        = 3
	exitUnreachable = 4
	exitTool        = 5
	exitInvalid     = 6
	exitDiffers     = 7
	exitTimeout     = 8
	exitDenied      = 9
	exitPending     = 10
	exitInterrupted = 130
)

// An exitError ends the program with a code of its own.
type exitError struct {
	code int
	id   string // AIO4102, for looking it up
	err  error  // nil when everything has been said
	hint string
	// details say where and why, in rows.
	details []detail
	// plain is for the programs that had their own way of saying it.
	plain bool
}

// A detail is one row under an error.
type detail struct{ label, text string }

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// In says it in a language, as far as it has not been said in one already.
func (e *exitError) In(l i18n.Lang) string {
	if e.err == nil {
		return e.Error()
	}
	return l.Of(e.err)
}

// fail ends the program with a code, a message and the way out. The format has
// no words of its own: those are among the arguments, in the user's language
// or in both.
func fail(code int, id, hint, format string, args ...any) error {
	return &exitError{code: code, id: id, hint: hint, err: i18n.Errorf(format, format, args...)}
}

// silent ends the program with a code; what was to be said has been said.
func silent(code int) error { return &exitError{code: code} }

func writeLine(w io.Writer, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(fmt.Sprintf("%q", err.Error()))
	}
	fmt.Fprintf(w, "%s\n", raw)
}
