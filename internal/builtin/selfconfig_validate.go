package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/jsonrpc"
)

// validation is what the validate tool answers. An error is an object where
// its place in the file is known, else a text.
type validation struct {
	Valid    bool    `json:"valid"`
	Errors   []any   `json:"errors"`
	Warnings []place `json:"warnings,omitempty"`
	Path     string  `json:"configPath"`
}

// A place is one problem of a file.
type place struct {
	Path    string          `json:"path"`
	Message string          `json:"message"`
	Value   json.RawMessage `json:"value,omitempty"`
}

func (c *SelfConfig) validate(_ context.Context, _ *Env, args []byte) (any, error) {
	path, err := c.file(args)
	if errors.Is(err, errFileArgument) {
		return validation{Errors: []any{err.Error()}, Path: c.Path}, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return validation{Errors: []any{missingFile(path, err).Error()}, Path: path}, nil
	}
	load := c.Load
	load.AsWritten = true
	cfg, err := config.Check(path, data, load)
	if err != nil {
		return validation{Errors: describe(err, data), Path: path}, nil
	}
	return validation{Valid: true, Errors: []any{}, Warnings: warnings(cfg), Path: path}, nil
}

// describe lists the errors of a file, with the values that they are about;
// secrets are not among them.
func describe(err error, data []byte) []any {
	var load *problem.LoadError
	if !errors.As(err, &load) {
		return []any{err.Error()}
	}
	shown, _ := edit.Redact(data) // what cannot be read has no values
	list := []any{}
	for _, p := range load.Problems {
		if p.Severity != problem.SeverityError {
			continue
		}
		if p.Path == "" {
			list = append(list, p.String())
			continue
		}
		list = append(list, place{p.Path, p.Message, valueAt(shown, p.Path)})
	}
	return list
}

// sentences are the errors as the set tool lists them.
func sentences(err error) []string {
	var load *problem.LoadError
	if !errors.As(err, &load) {
		return []string{err.Error()}
	}
	list := []string{}
	for _, p := range load.Problems {
		switch {
		case p.Severity != problem.SeverityError:
		case p.Path == "":
			list = append(list, p.String())
		default:
			list = append(list, p.Path+": "+p.Message)
		}
	}
	return list
}

// valueAt is the value that a path names; nil when it leads nowhere.
func valueAt(doc []byte, path string) json.RawMessage {
	if len(doc) == 0 || !jsonrpc.Valid(doc) {
		return nil
	}
	raw := jsonrpc.Get(doc, strings.Split(path, ".")...)
	if len(raw) > 200 {
		return nil
	}
	return bytes.Clone(raw)
}

// warnings are what is odd about a file that can be used: undefined variables
// and servers that wait for approval among it.
func warnings(cfg *config.Config) []place {
	var list []place
	for _, p := range cfg.Problems {
		list = append(list, place{Path: p.Path, Message: p.Message})
	}
	return list
}
