package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// An ArgumentError is an argument that cannot be what the tool wants. It is
// found before anything is sent.
type ArgumentError struct {
	Argument string
	Problem  string
	// Nearest is the right name that was probably meant; empty when none is
	// near.
	Nearest string
	// Unknown says that there is no argument of this name. Want is the type
	// that it should have had instead of what was Given; empty when something
	// else is wrong.
	Unknown     bool
	Want, Given string
}

func (e *ArgumentError) Error() string {
	text := e.Problem
	if e.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Nearest)
	}
	return text
}

// An ArgumentParser turns what a person types into the arguments of a tool.
//
//	k=v        typed by the schema: a string stays a string
//	k:=json    JSON
//	a.b[0]=x   inside objects and arrays
//	k=@file    the text of a file; k:=@file its JSON
type ArgumentParser struct {
	// Schema is the tool's input schema; nil types nothing.
	Schema []byte
	// ReadFile reads what @ names; nil is os.ReadFile.
	ReadFile func(name string) ([]byte, error)
	// Any accepts names that the schema does not have.
	Any bool
}

// IsArgument says whether a word of the command line is an argument and not a
// name.
func IsArgument(word string) bool {
	at := strings.IndexByte(word, '=')
	return at > 0 && !strings.Contains(word[:at], "://")
}

// Parse reads words into base, which may be nil.
func (p *ArgumentParser) Parse(base json.RawMessage, words []string) (json.RawMessage, error) {
	args := base
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if args[0] != '{' || !jsonrpc.Valid(args) {
		return nil, errors.New("the arguments are not a JSON object")
	}
	var tree any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("reading the arguments: %w", err)
	}
	for _, word := range words {
		key, value, isJSON, err := p.split(word)
		if err != nil {
			return nil, err
		}
		path, err := parsePath(key)
		if err != nil {
			return nil, err
		}
		typed, err := p.value(key, path, value, isJSON)
		if err != nil {
			return nil, err
		}
		if tree, err = place(tree, path, typed); err != nil {
			return nil, &ArgumentError{Argument: key, Problem: fmt.Sprintf("%q: %v", key, err)}
		}
	}
	if len(words) == 0 {
		return args, nil
	}
	return json.Marshal(tree)
}

// split cuts k=v, k:=json, k=@file and k:=@file.
func (p *ArgumentParser) split(word string) (key, value string, isJSON bool, err error) {
	key, value, ok := strings.Cut(word, "=")
	if !ok || key == "" {
		return "", "", false, &ArgumentError{Argument: word, Problem: fmt.Sprintf("%q is not an argument: write name=value", word)}
	}
	key, isJSON = strings.CutSuffix(key, ":")
	if name, isFile := strings.CutPrefix(value, "@"); isFile && name != "" {
		read := p.ReadFile
		if read == nil {
			read = os.ReadFile
		}
		data, err := read(name)
		if err != nil {
			return "", "", false, &ArgumentError{Argument: key, Problem: fmt.Sprintf("argument %q: %v", key, err)}
		}
		value = string(data)
	}
	return key, value, isJSON, nil
}

// value types one value: as JSON, or by what the schema says of its place.
func (p *ArgumentParser) value(key string, path []step, value string, isJSON bool) (any, error) {
	schema, nearest, known := schemaAt(p.Schema, path)
	if !known && !p.Any && len(p.Schema) > 0 {
		return nil, &ArgumentError{Argument: key, Problem: fmt.Sprintf("unknown argument %q", key), Nearest: nearest, Unknown: true}
	}
	if isJSON {
		if !jsonrpc.Valid([]byte(value)) {
			return nil, &ArgumentError{Argument: key, Problem: fmt.Sprintf("argument %q is not JSON: %.60s", key, value)}
		}
		return json.RawMessage(value), nil
	}
	typed, err := typeBySchema(schema, value)
	if err != nil && !p.Any {
		return nil, &ArgumentError{Argument: key, Problem: fmt.Sprintf("argument %q: %v", key, err), Want: typesOf(schema)[0], Given: value}
	}
	if err != nil {
		return value, nil
	}
	return typed, nil
}

// typeBySchema reads a text as the first of the types that the schema allows.
func typeBySchema(schema []byte, value string) (any, error) {
	var problem error
	for _, kind := range typesOf(schema) {
		typed, err := typeAs(kind, value)
		if err == nil {
			return typed, nil
		}
		if problem == nil {
			problem = err
		}
	}
	if problem == nil {
		return value, nil
	}
	return nil, problem
}

func typeAs(kind, value string) (any, error) {
	switch kind {
	case "integer":
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			if f, ferr := strconv.ParseFloat(value, 64); ferr != nil || f != float64(int64(f)) {
				return nil, fmt.Errorf("expected integer, got %q", value)
			}
		}
		return json.Number(value), nil
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil || !jsonrpc.Valid([]byte(value)) {
			return nil, fmt.Errorf("expected number, got %q", value)
		}
		return json.Number(value), nil
	case "boolean":
		switch value {
		case "true", "false":
			return value == "true", nil
		}
		return nil, fmt.Errorf("expected true or false, got %q", value)
	case "null":
		if value == "null" {
			return nil, nil
		}
		return nil, fmt.Errorf("expected null, got %q", value)
	case "object", "array":
		open := map[string]byte{"object": '{', "array": '['}[kind]
		if value != "" && value[0] == open && jsonrpc.Valid([]byte(value)) {
			return json.RawMessage(value), nil
		}
		if kind == "array" && !strings.HasPrefix(value, "{") {
			return nil, fmt.Errorf("expected an array: write name[0]=… or name:=[…], got %q", value)
		}
		return nil, fmt.Errorf("expected an object: write name.member=… or name:={…}, got %q", value)
	}
	return value, nil
}
