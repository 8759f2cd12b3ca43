package env

import (
	"encoding/json"
	"fmt"
	"io"

	"mcp-all-in-one/internal/i18n"
)

// Exit codes. 3 to 6 are the official inspector's, so
// that scripts can move over.
const (
	exitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitAuth        = 3
	ExitUnreachable = 4
	ExitTool        = 5
	ExitInvalid     = 6
	ExitDiffers     = 7
	ExitTimeout     = 8
	ExitDenied      = 9
	ExitPending     = 10
	ExitInterrupted = 130
)

// An ExitError ends the program with a code of its own.
type ExitError struct {
	Code int
	ID   string // AIO4102, for looking it up
	Err  error  // nil when everything has been said
	Hint string
	// Details say where and why, in rows.
	Details []Detail
	// Plain is for the programs that had their own way of saying it.
	Plain bool
}

// A Detail is one row under an error.
type Detail struct{ Label, Text string }

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// In says it in a language, as far as it has not been said in one already.
func (e *ExitError) In(l i18n.Lang) string {
	if e.Err == nil {
		return e.Error()
	}
	return l.Of(e.Err)
}

// Fail ends the program with a code, a message and the way out. The format has
// no words of its own: those are among the arguments, in the user's language
// or in both.
func Fail(code int, id, hint, format string, args ...any) error {
	return &ExitError{Code: code, ID: id, Hint: hint, Err: i18n.Errorf(format, format, args...)}
}

// Silent ends the program with a code; what was to be said has been said.
func Silent(code int) error { return &ExitError{Code: code} }

func WriteLine(w io.Writer, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(fmt.Sprintf("%q", err.Error()))
	}
	fmt.Fprintf(w, "%s\n", raw)
}
