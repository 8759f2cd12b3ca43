package env

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// Exit codes. 3 to 6 are those of the official inspector, so that scripts can
// be reused.
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
	exitPipe        = 141 // as if the signal had ended the program
)

// An ExitError ends the program with its own exit code.
type ExitError struct {
	Code int
	ID   string // such as AIO4102, for explain
	Err  error  // nil if the message was already printed
	Hint string
	// Details are rows that say where and why.
	Details []Detail
	// Plain selects the error format of the older programs.
	Plain bool
}

// A Detail is one row below an error.
type Detail struct{ Label, Text string }

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// In returns the message in a language, if it exists in both languages.
func (e *ExitError) In(l i18n.Lang) string {
	if e.Err == nil {
		return e.Error()
	}
	return l.Of(e.Err)
}

// Fail returns an error with an exit code, a message and a hint. The format
// contains no words: the words are among the arguments, in the user's language
// or in both.
func Fail(code int, id, hint, format string, args ...any) error {
	return &ExitError{Code: code, ID: id, Hint: hint, Err: i18n.Errorf(format, strings.ReplaceAll(format, ": ", "："), args...)}
}

// Silent returns an error with an exit code whose message was already printed.
func Silent(code int) error { return &ExitError{Code: code} }

// WriteReport creates a file and fills it.
func WriteReport(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return Fail(ExitUsage, CodeUsage, "", "%v", err)
	}
	return errors.Join(write(file), file.Close())
}

func WriteLine(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = fmt.Appendf(nil, "%q", err.Error())
	}
	_, err = fmt.Fprintf(w, "%s\n", raw)
	return err
}
