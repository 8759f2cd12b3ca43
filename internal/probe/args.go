package probe

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// An ArgumentError describes an argument that does not match the tool's schema.
// It is found before anything is sent.
type ArgumentError struct {
	Argument string
	Problem  i18n.Text
	Form     bool // the word cannot be read at all, whatever the tool takes
	// Nearest is the name that was probably meant; empty if none is similar.
	Nearest string
}

func (e *ArgumentError) Error() string { return e.In(i18n.English) }

// In returns the error in the given language.
func (e *ArgumentError) In(l i18n.Lang) string {
	if e.Nearest != "" {
		return i18n.New("%v; did you mean %q?", "%v；是否要用 %q？", e.Problem, e.Nearest).In(l)
	}
	return e.Problem.In(l)
}

// UnknownArgument returns the error for an unknown argument name.
func UnknownArgument(name, nearest string) *ArgumentError {
	return &ArgumentError{Argument: name, Problem: i18n.New("unknown argument %q", "未知参数 %q", name), Nearest: nearest}
}

// An ArgumentParser turns user input into the arguments of a tool.
//
//	k=v        typed by the schema: a string stays a string
//	k:=json    JSON
//	a.b[0]=x   inside objects and arrays
//	k=@file    the text of a file; k:=@file its JSON
type ArgumentParser struct {
	// Schema is the tool's input schema; if nil, values are not typed.
	Schema []byte
	// Any accepts names that the schema does not have.
	Any bool
}

// Parse adds the arguments in words to base, which may be nil.
func (p *ArgumentParser) Parse(base json.RawMessage, words []string) (json.RawMessage, error) {
	args := base
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if args[0] != '{' || !jsonrpc.Valid(args) {
		return nil, i18n.Errorf("the arguments are not a JSON object", "参数不是 JSON 对象")
	}
	tree, err := jsonrpc.Decode(args)
	if err != nil {
		return nil, i18n.Errorf("reading the arguments: %w", "读取参数失败：%w", err)
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
			return nil, &ArgumentError{Argument: key, Problem: i18n.New("%q: %v", "参数 %q：%v", key, err)}
		}
	}
	if len(words) == 0 {
		return args, nil
	}
	return json.Marshal(tree)
}

// split parses k=v, k:=json, k=@file and k:=@file.
func (p *ArgumentParser) split(word string) (key, value string, isJSON bool, err error) {
	key, value, ok := strings.Cut(word, "=")
	if !ok || key == "" {
		return "", "", false, &ArgumentError{Argument: word, Form: true, Problem: i18n.New("%q is not an argument: write name=value", "%q 不是参数：请写成 名称=值", word)}
	}
	key, isJSON = strings.CutSuffix(key, ":")
	if name, isFile := strings.CutPrefix(value, "@"); isFile && name != "" {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", "", false, &ArgumentError{Argument: key, Form: true, Problem: i18n.New("argument %q: %v", "参数 %q：%v", key, err)}
		}
		value = string(data)
	}
	return key, value, isJSON, nil
}

// value converts one value: as JSON, or by the schema of its path.
func (p *ArgumentParser) value(key string, path []step, value string, isJSON bool) (any, error) {
	schema, nearest, known := schemaAt(p.Schema, path)
	if !known && !p.Any && len(p.Schema) > 0 {
		return nil, UnknownArgument(key, nearest)
	}
	if isJSON {
		if !jsonrpc.Valid([]byte(value)) {
			return nil, &ArgumentError{Argument: key, Problem: i18n.New("argument %q is not JSON: %.60s", "参数 %q 不是 JSON：%.60s", key, value)}
		}
		return json.RawMessage(value), nil
	}
	typed, err := typeBySchema(schema, value)
	if err != nil && !p.Any {
		return nil, &ArgumentError{Argument: key, Problem: i18n.New("argument %q: %v", "参数 %q：%v", key, err)}
	}
	if err != nil {
		return value, nil
	}
	return typed, nil
}

// typeBySchema converts a text to the first type of the schema that accepts it.
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
				return nil, i18n.Errorf("expected integer, got %q", "类型应为 integer，实际为 %q", value)
			}
		}
		return json.Number(value), nil
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil || !jsonrpc.Valid([]byte(value)) {
			return nil, i18n.Errorf("expected number, got %q", "类型应为 number，实际为 %q", value)
		}
		return json.Number(value), nil
	case "boolean":
		switch value {
		case "true", "false":
			return value == "true", nil
		}
		return nil, i18n.Errorf("expected true or false, got %q", "应为 true 或 false，实际为 %q", value)
	case "null":
		if value == "null" {
			return nil, nil
		}
		return nil, i18n.Errorf("expected null, got %q", "类型应为 null，实际为 %q", value)
	case "object", "array":
		open := map[string]byte{"object": '{', "array": '['}[kind]
		if value != "" && value[0] == open && jsonrpc.Valid([]byte(value)) {
			return json.RawMessage(value), nil
		}
		if kind == "array" && !strings.HasPrefix(value, "{") {
			return nil, i18n.Errorf("expected an array: write name[0]=… or name:=[…], got %q", "应为数组：请写成 名称[0]=… 或 名称:=[…]，实际为 %q", value)
		}
		return nil, i18n.Errorf("expected an object: write name.member=… or name:={…}, got %q", "应为对象：请写成 名称.成员=… 或 名称:={…}，实际为 %q", value)
	}
	return value, nil
}
