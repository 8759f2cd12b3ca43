// Package install turns what a stranger publishes into an entry of the config
// file: records of MCP registries and bundles.
//
// It reads, judges and asks; nothing here starts a server, and nothing that it
// reads is expanded, rendered or run. Every text that came from outside leaves
// it with its variables made harmless and its hidden characters made visible.
package install

import (
	"encoding/json"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// An Error is a refusal with a code of its own; its text has the way out.
type Error struct {
	Code string
	Text i18n.Text
}

func (e *Error) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *Error) In(l i18n.Lang) string { return e.Text.In(l) }

func fail(code, en, zh string, args ...any) *Error {
	return &Error{Code: code, Text: i18n.New(en, zh, args...)}
}

// An Entry is a server as it is written into the config file.
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

	needs *Profile // what it needs beside its own files
}

// JSON is the entry as it is written.
func (e *Entry) JSON() ([]byte, error) {
	type origin struct {
		Registry string `json:"registry,omitempty"`
		Name     string `json:"name,omitempty"`
		Version  string `json:"version,omitempty"`
		Bundle   string `json:"bundle,omitempty"`
		SHA256   string `json:"sha256,omitempty"`
	}
	var o *origin
	if e.Origin != nil {
		o = &origin{e.Origin.Registry, e.Origin.Name, e.Origin.Version, e.Origin.Bundle, e.Origin.SHA256}
	}
	return json.Marshal(struct {
		*Entry
		Origin *origin `json:"origin,omitempty"`
	}{e, o})
}

// A Profile is a sandbox of an entry that needs more than its own files.
type Profile struct {
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
}

// Confine gives a command a sandbox: "on", or its profile.
func (e *Entry) Confine() {
	switch {
	case e.Command == "":
	case e.needs != nil:
		e.Sandbox = e.needs
	default:
		e.Sandbox = "on"
	}
}

// maxShown is how many characters of a stranger's text are shown.
const maxShown = 300

// Show is a text from outside on one line: every character that does not show
// as its number, at most 300 characters.
func Show(s string) string {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s)
	if r := []rune(s); len(r) > maxShown {
		s = string(r[:maxShown]) + "…"
	}
	return i18n.Reveal(s)
}
