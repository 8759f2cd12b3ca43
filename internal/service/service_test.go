package service

import (
	"encoding/xml"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// odd is a Spec whose words contain special characters of service files.
var odd = Spec{Program: "/opt/a b/mcp-all-in-one", Args: []string{"http", "--config", `/home/x/100% "$HOME" \ <&>.json`}, Path: "/usr/bin:/opt/100%/bin"}

func TestUnitQuotes(t *testing.T) {
	text := NewSystemd("/home/x").Describe(odd)
	for _, line := range []string{
		`ExecStart="/opt/a b/mcp-all-in-one" "http" "--config" "/home/x/100%% \"$$HOME\" \\ <&>.json"`,
		`Environment="PATH=/usr/bin:/opt/100%%/bin"`,
		"Restart=on-failure", "WantedBy=default.target",
	} {
		if !slices.Contains(strings.Split(text, "\n"), line) {
			t.Errorf("get/service unit: no line %s in\n%s", line, text)
		}
	}
}

// TestPropertyList parses the property list as XML: its keys, and the words of
// the command.
func TestPropertyList(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(NewLaunchd("/home/x & y").Describe(odd)))
	var keys, words []string
	var element string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case xml.StartElement:
			element = v.Name.Local
		case xml.EndElement:
			element = ""
		case xml.CharData:
			switch element {
			case "key":
				keys = append(keys, string(v))
			case "string":
				words = append(words, string(v))
			}
		}
	}
	for _, key := range []string{"Label", "ProgramArguments", "EnvironmentVariables", "PATH", "RunAtLoad", "KeepAlive", "ExitTimeOut", "StandardErrorPath"} {
		if !slices.Contains(keys, key) {
			t.Errorf("get/service plist: no key %s", key)
		}
	}
	for _, word := range append([]string{odd.Program, odd.Path, Label, "/home/x & y/Library/Logs/mcp-all-in-one.log"}, odd.Args...) {
		if !slices.Contains(words, word) {
			t.Errorf("get/service plist: no text %s in %q", word, words)
		}
	}
}

// TestServicesOfOthers checks that uninstall does not stop a service that has our
// name and was not installed by us.
func TestServicesOfOthers(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("PATH", home) // a program of the system that was run would not be found
	for _, m := range []interface {
		Manager
		file() string
	}{NewSystemd(home), NewLaunchd(home)} {
		must.Write(t, m.file(), "[Service]\nExecStart=/bin/true\n")
		if err := m.Uninstall(t.Context()); err == nil || !strings.Contains(err.Error(), "not written by this program") {
			t.Errorf("get/service %T: %v", m, err)
		}
		if !exists(m.file()) {
			t.Errorf("get/service %T: the file is gone", m)
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for content, want := range map[string]string{"": "", "a\n": "a\n", "a\nb\nc\n": "b\nc\n", "a\nb\nc": "b\nc", "\n\n\n": "\n\n"} {
		must.Write(t, path, content)
		var out strings.Builder
		if err := tail(t.Context(), &out, path, 2, false); err != nil || out.String() != want {
			t.Errorf("get/service the last lines of %q: %q, %v", content, out.String(), err)
		}
	}
}
