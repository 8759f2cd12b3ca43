// Package install creates entries of the config file from untrusted sources:
// records of MCP registries and bundles.
//
// It reads, checks and asks. It does not start servers, and does not expand,
// render or run what it reads. In every text from outside, it escapes variables
// and makes hidden characters visible.
package install

import (
	"encoding/json"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// An Error is a refusal with its own code. Its text says what to do.
type Error struct {
	Code string
	Text i18n.Text
}

func (e *Error) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *Error) In(l i18n.Lang) string { return e.Text.In(l) }

func fail(code, en, zh string, args ...any) *Error {
	return &Error{Code: code, Text: i18n.New(en, zh, args...)}
}

// An Entry is a server in the form that the config file has.
type Entry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Sandbox any               `json:"sandbox,omitempty"`
	Origin  *config.Origin    `json:"-"`

	needs     *Profile // what it needs besides its own files
	container bool     // it runs in a container, which is its sandbox
}

// JSON returns the JSON text for the config file.
func (e *Entry) JSON() ([]byte, error) {
	return json.Marshal(struct {
		*Entry
		Origin *config.Origin `json:"origin,omitempty"`
	}{e, e.Origin})
}

// A Profile is the sandbox of an entry that needs more than its own files.
type Profile struct {
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
}

// Contained reports whether the server runs in a container.
func (e *Entry) Contained() bool { return e.container }

// Confine sets the sandbox of a command: "on", or its profile.
func (e *Entry) Confine() {
	switch {
	case e.Command == "" || e.container:
	case e.needs != nil:
		e.Sandbox = e.needs
	default:
		e.Sandbox = "on"
	}
}

// maxShown is how many characters of an untrusted text are shown.
const maxShown = 300

// Show returns a text from outside on one line: at most 300 characters, with
// invisible characters written as their numbers.
func Show(s string) string {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s)
	if r := []rune(s); len(r) > maxShown {
		s = string(r[:maxShown]) + "…"
	}
	return i18n.Reveal(s)
}
