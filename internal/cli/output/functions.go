package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
)

// functions are the functions of a template: those of text/template that have a
// meaning for JSON, and json, which formats a value as JSON.
var functions = map[string]func(args []any) (any, error){
	"and":     last,
	"or":      last,
	"not":     func(args []any) (any, error) { return len(args) == 1 && !truth(args[0]), exactly(args, 1) },
	"len":     length,
	"index":   index,
	"print":   func(args []any) (any, error) { return fmt.Sprint(args...), nil },
	"println": func(args []any) (any, error) { return fmt.Sprintln(args...), nil },
	"printf":  printf,
	"json":    asJSON,
	"eq": func(args []any) (any, error) {
		for _, other := range args[min(1, len(args)):] {
			if n, err := compare(args[0], other, true); err != nil || n == 0 {
				return n == 0, err
			}
		}
		return false, atLeast(args, 2)
	},
	"ne": ordered(true, func(n int) bool { return n != 0 }),
	"lt": ordered(false, func(n int) bool { return n < 0 }),
	"le": ordered(false, func(n int) bool { return n <= 0 }),
	"gt": ordered(false, func(n int) bool { return n > 0 }),
	"ge": ordered(false, func(n int) bool { return n >= 0 }),
}

// last returns the last argument: the others did not decide.
func last(args []any) (any, error) {
	if err := atLeast(args, 1); err != nil {
		return nil, err
	}
	return args[len(args)-1], nil
}

func exactly(args []any, n int) error {
	if len(args) != n {
		return i18n.Errorf("wrong number of arguments: %d, not %d", "参数个数错误：%d，应为 %d", len(args), n)
	}
	return nil
}

func atLeast(args []any, n int) error {
	if len(args) < n {
		return i18n.Errorf("wrong number of arguments: %d, at least %d", "参数个数错误：%d，至少 %d", len(args), n)
	}
	return nil
}

func ordered(equality bool, holds func(int) bool) func([]any) (any, error) {
	return func(args []any) (any, error) {
		if err := exactly(args, 2); err != nil {
			return nil, err
		}
		n, err := compare(args[0], args[1], equality)
		return holds(n), err
	}
}

// compare compares two numbers or two texts. With equality, values of all kinds are
// equal or not.
func compare(a, b any, equality bool) (int, error) {
	switch x := a.(type) {
	case json.Number:
		if y, ok := b.(json.Number); ok {
			f, err := x.Float64()
			g, other := y.Float64()
			if x != y && err == nil && other == nil {
				return cmp.Compare(f, g), nil
			}
			return cmp.Compare(x, y), nil
		}
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y), nil
		}
	}
	if !equality {
		return 0, i18n.Errorf("%s and %s cannot be compared", "%s 与 %s 无法比较", written(a), written(b))
	}
	x, _ := json.Marshal(a) // values of JSON can be encoded
	y, _ := json.Marshal(b)
	return bytes.Compare(x, y), nil
}

func length(args []any) (any, error) {
	if err := exactly(args, 1); err != nil {
		return nil, err
	}
	n := 0
	switch value := args[0].(type) {
	case string:
		n = len(value)
	case []any:
		n = len(value)
	case map[string]any:
		n = len(value)
	default:
		return nil, i18n.Errorf("%s has no length", "%s 没有长度", written(value))
	}
	return json.Number(fmt.Sprint(n)), nil
}

// index returns an item of a list or a member of an object, of an item of it, and so
// on.
func index(args []any) (any, error) {
	if err := atLeast(args, 1); err != nil {
		return nil, err
	}
	value := args[0]
	for _, at := range args[1:] {
		switch in := value.(type) {
		case []any:
			n, _ := at.(json.Number)
			i, err := n.Int64()
			if err != nil {
				return nil, i18n.Errorf("%s is not a number of an item", "%s 不是条目序号", written(at))
			}
			if i < 0 || i >= int64(len(in)) {
				return nil, i18n.Errorf("index out of range: %d", "序号超出范围：%d", i)
			}
			value = in[i]
		case map[string]any:
			value = in[fmt.Sprint(at)]
		default:
			return nil, i18n.Errorf("%s has no items", "%s 没有条目", written(value))
		}
	}
	return value, nil
}

// printf formats values. Numbers are given as the verb wants them.
func printf(args []any) (any, error) {
	format, ok := "", false
	if len(args) > 0 {
		format, ok = args[0].(string)
	}
	if !ok {
		return nil, i18n.Errorf("the format is not a text", "格式不是文本")
	}
	values := append([]any{}, args[1:]...)
	at := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("+-# 0123456789.", format[i]) >= 0; i++ {
		}
		if i >= len(format) || format[i] == '%' || at >= len(values) {
			continue
		}
		if n, ok := values[at].(json.Number); ok {
			verb, _ := utf8.DecodeRuneInString(format[i:])
			if whole, err := n.Int64(); err == nil && strings.ContainsRune("dcxXobU", verb) {
				values[at] = whole
			} else if f, err := n.Float64(); err == nil && strings.ContainsRune("eEfFgG", verb) {
				values[at] = f
			}
		}
		at++
	}
	return fmt.Sprintf(format, values...), nil
}

func asJSON(args []any) (any, error) {
	if err := exactly(args, 1); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(args[0])
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), err
}
