package probe

import (
	"encoding/json"
	"strings"

	"github.com/itchyny/gojq"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// CheckJQ returns an error if a jq expression cannot be compiled.
func CheckJQ(expression string) error {
	_, err := compileJQ(expression)
	return err
}

func compileJQ(expression string) (*gojq.Code, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, i18n.Errorf("reading %q: %w", "解析 %q 失败：%w", expression, jqError(err))
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, i18n.Errorf("reading %q: %w", "解析 %q 失败：%w", expression, jqError(err))
	}
	return code, nil
}

// jqError translates the commonest errors of the parser and the compiler.
func jqError(err error) error {
	said := err.Error()
	if said == "unexpected EOF" {
		return i18n.Errorf("unexpected end of the expression", "表达式在中途结束")
	}
	for en, zh := range map[string]string{
		"unexpected token ": "意外的符号 ", "invalid token ": "无效的符号 ", "function not defined: ": "未定义的函数：",
		"variable not defined: ": "未定义的变量：", "unterminated string literal": "字符串没有结束",
	} {
		if rest, ok := strings.CutPrefix(said, en); ok {
			return i18n.Errorf(en+"%s", zh+"%s", rest)
		}
	}
	return err
}

// JQ runs a jq expression on a value and returns all results.
func JQ(expression string, value json.RawMessage) ([]json.RawMessage, error) {
	code, err := compileJQ(expression)
	if err != nil {
		return nil, err
	}
	input, err := jsonrpc.Decode(value)
	if err != nil {
		return nil, i18n.Errorf("reading the JSON: %w", "读取 JSON 失败：%w", err)
	}
	var results []json.RawMessage
	for iter := code.Run(input); ; {
		v, ok := iter.Next()
		if !ok {
			return results, nil
		}
		if err, failed := v.(error); failed {
			return results, err
		}
		raw, err := gojq.Marshal(v)
		if err != nil {
			return results, err
		}
		results = append(results, raw)
	}
}
