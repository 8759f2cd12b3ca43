package clients

import (
	"encoding/json"
	"slices"
	"strings"

	"mcp-all-in-one/internal/web/api"
)

// maskValues masks the values of an entry's environment and headers in a text.
func maskValues(text string, entry json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(entry, &fields) != nil {
		return text
	}
	values := hiddenValues(fields)
	for _, key := range []string{"command", "requestOptions"} { // older versions of Zed, and Continue
		values = append(values, hiddenValues(object(fields[key]))...)
	}
	// Longest first: otherwise the rest of a value that contains another would
	// remain.
	slices.SortFunc(values, func(v, w string) int { return len(w) - len(v) })
	for _, v := range values {
		if quoted, err := json.Marshal(v); err == nil {
			text = strings.ReplaceAll(text, string(quoted), `"`+api.Kept+`"`)
		}
		if len(v) >= 6 {
			text = strings.ReplaceAll(text, v, api.Kept)
		}
	}
	return text
}

func hiddenValues(fields map[string]any) []string {
	var list []string
	for _, key := range []string{"env", "environment", "envs", "headers", "http_headers"} {
		values, _ := fields[key].(map[string]any)
		for _, value := range values {
			if v, _ := value.(string); v != "" {
				list = append(list, v)
			}
		}
	}
	return list
}
