package probe

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
)

// SchemaItem returns a tool whose arguments have the given schema. An error means
// that the schema cannot be used.
func SchemaItem(schema []byte) (*catalog.Item, error) {
	page := append(append([]byte(`{"tools":[{"name":"value","inputSchema":`), schema...), `}]}`...)
	items, issues := catalog.ParseTools([][]byte{page})
	if len(items) != 1 {
		return nil, i18n.Errorf("the schema cannot be used: %v", "该 schema 无法使用：%v", issues[0].Detail)
	}
	return &items[0], items[0].Unvalidated()
}

// CheckJSON validates a value against a JSON Schema. It returns the violations,
// one per line; an error means that the schema cannot be used.
func CheckJSON(schema, value []byte) ([]i18n.Text, error) {
	item, err := SchemaItem(schema)
	if err != nil {
		return nil, err
	}
	var lines []i18n.Text
	for _, v := range item.Validate(value) {
		where := i18n.Plain(v.Argument)
		if v.Argument == "" {
			where = i18n.New("the value", "该值")
		}
		line := i18n.New("%v: expected %v", "%v：应为 %v", where, v.Want)
		if !v.Got.Empty() {
			line = i18n.New("%v, got %v", "%v，实际为 %v", line, v.Got)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// CheckOutput validates a tool's result against its output schema. It accepts
// the result of a tool that failed or has no output schema.
func CheckOutput(tool *catalog.Item, x *Exchange) ([]i18n.Text, error) {
	if tool == nil || len(tool.OutputSchema) == 0 || x.Err != nil || x.IsToolError() {
		return nil, nil
	}
	value := Structured(x.Result)
	if value == nil {
		return []i18n.Text{i18n.New("structuredContent is missing although the tool has an output schema", "缺少 structuredContent，而该工具声明了输出 schema")}, nil
	}
	return CheckJSON(tool.OutputSchema, value)
}
