package probe

import (
	"fmt"

	"mcp-all-in-one/internal/catalog"
)

// CheckJSON holds a value against a JSON Schema. It returns what is wrong, a
// line each; an error says that the schema cannot be used.
func CheckJSON(schema, value []byte) ([]string, error) {
	page := append(append([]byte(`{"tools":[{"name":"value","inputSchema":`), schema...), `}]}`...)
	items, issues := catalog.ParseTools([][]byte{page})
	if len(items) != 1 {
		return nil, fmt.Errorf("the schema cannot be used: %v", issues)
	}
	if err := items[0].Unvalidated(); err != nil {
		return nil, err
	}
	var lines []string
	for _, v := range items[0].Validate(value) {
		where := v.Argument
		if where == "" {
			where = "the value"
		}
		line := where + ": expected " + v.Want
		if v.Got != "" {
			line += ", got " + v.Got
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// CheckOutput holds a tool's result against its output schema. A tool that
// failed, or has no such schema, has nothing to keep to.
func CheckOutput(tool *catalog.Item, x *Exchange) ([]string, error) {
	if tool == nil || len(tool.OutputSchema) == 0 || x.Err != nil || x.IsToolError() {
		return nil, nil
	}
	value := structured(x.Result)
	if value == nil {
		return []string{"structuredContent is missing although the tool has an output schema"}, nil
	}
	return CheckJSON(tool.OutputSchema, value)
}
