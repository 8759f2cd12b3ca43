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

// validation is the result of the validate tool. An error is an object if its
// position in the file is known, otherwise a string.
type validation struct {
	Valid    bool    `json:"valid"`
	Errors   []any   `json:"errors"`
	Warnings []place `json:"warnings,omitempty"`
	Path     string  `json:"configPath"`
}

// A place is a problem of a file.
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

// describe lists the errors of a file with the values concerned, without
// secrets.
func describe(err error, data []byte) []any {
	var load *problem.LoadError
	if !errors.As(err, &load) {
		return []any{err.Error()}
	}
	shown, _ := edit.Redact(data) // an unreadable file has no values
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

// sentences returns the errors as the set tool lists them.
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

// valueAt returns the value at a path; nil if there is none.
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

// warnings returns the warnings about a valid file, for example undefined
// variables and servers that wait for approval.
func warnings(cfg *config.Config) []place {
	var list []place
	for _, p := range cfg.Problems {
		list = append(list, place{Path: p.Path, Message: p.Message})
	}
	return list
}
