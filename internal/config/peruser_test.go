package config_test

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
)

// A per-user value goes to exactly one variable or header, which nothing else
// sets.
func TestPerUser(t *testing.T) {
	for name, tt := range map[string]struct{ entry, fault string }{
		"variable":          {`"command": "x", "perUser": {"hub": {"env": "TOKEN", "description": "your token"}}`, ""},
		"header":            {`"url": "http://h/mcp", "perUser": {"hub": {"header": "Authorization", "prefix": "Bearer "}}`, ""},
		"two":               {`"command": "x", "perUser": {"a": {"env": "A"}, "b": {"env": "B"}}`, ""},
		"nowhere":           {`"command": "x", "perUser": {"hub": {}}`, "needs one of env and header"},
		"two places":        {`"command": "x", "perUser": {"hub": {"env": "A", "header": "B"}}`, "needs one of env and header"},
		"header of command": {`"command": "x", "perUser": {"hub": {"header": "A"}}`, "has no url"},
		"variable of url":   {`"url": "http://h/mcp", "perUser": {"hub": {"env": "A"}}`, "has no command"},
		"odd variable":      {`"command": "x", "perUser": {"hub": {"env": "A=B"}}`, "cannot be sent"},
		"odd header":        {`"url": "http://h/mcp", "perUser": {"hub": {"header": "A B"}}`, "cannot be sent"},
		"odd prefix":        {`"url": "http://h/mcp", "perUser": {"hub": {"header": "A", "prefix": "a\nb"}}`, "cannot be sent"},
		"odd name":          {`"command": "x", "perUser": {"a b": {"env": "A"}}`, "white space"},
		"variable is taken": {`"command": "x", "env": {"A": "1"}, "perUser": {"hub": {"env": "A"}}`, "another value"},
		"header is taken":   {`"url": "http://h/mcp", "headers": {"x-key": "1"}, "perUser": {"hub": {"header": "X-Key"}}`, "another value"},
		"browser":           {`"command": "x", "perUser": {"hub": {"env": "BROWSER"}}`, "decides which programs are run"},
		"steering":          {`"command": "x", "perUser": {"hub": {"env": "BASH_ENV"}}`, "would run code in every shell"},
		"transport":         {`"url": "http://h/mcp", "perUser": {"hub": {"header": "Mcp-Session-Id"}}`, "sets itself"},
		"one for two":       {`"command": "x", "perUser": {"a": {"env": "A"}, "b": {"env": "A"}}`, "another value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Check("a.json", []byte(`{"mcpServers": {"s": {`+tt.entry+`}}}`), config.LoadOptions{Home: t.TempDir()})
			if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
				t.Errorf("error %v, want %q", err, tt.fault)
			}
		})
	}
}

// A change of where a value goes needs a new connection and a new approval.
func TestPerUserHash(t *testing.T) {
	server := func(values string) *config.Server {
		t.Helper()
		cfg, err := config.Check("a.json", []byte(`{"mcpServers": {"s": {"url": "http://h/mcp", "perUser": {`+values+`}}}}`), config.LoadOptions{Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Schemas[0].Servers[0]
	}
	one := server(`"hub": {"header": "X-Key"}`)
	for name, values := range map[string]string{
		"none": ``, "another": `"git": {"header": "X-Key"}`, "another header": `"hub": {"header": "X-Other"}`, "prefix": `"hub": {"header": "X-Key", "prefix": "Bearer "}`,
	} {
		if other := server(values); other.Hash() == one.Hash() || other.ApprovalHash() == one.ApprovalHash() {
			t.Errorf("%s: the same hash", name)
		}
	}
	if other := server(`"hub": {"header": "X-Key", "description": "your key"}`); other.Hash() != one.Hash() || other.ApprovalHash() == one.ApprovalHash() {
		t.Error("a description needs no new connection, and shows in what is approved")
	}
	if !strings.Contains(one.Entry(), "X-Key") {
		t.Errorf("entry %s", one.Entry())
	}
}
