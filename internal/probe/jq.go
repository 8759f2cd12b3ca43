package probe

import (
	"encoding/json"

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
		return nil, i18n.Errorf("reading %q: %w", "解析 %q 失败：%w", expression, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, i18n.Errorf("reading %q: %w", "解析 %q 失败：%w", expression, err)
	}
	return code, nil
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
