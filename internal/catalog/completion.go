package catalog

import (
	"encoding/json"
	"slices"

	"mcp-all-in-one/internal/jsonrpc"
)

// maxCompletions is how many values a completion may have.
const maxCompletions = 100

// JoinCompletions joins results of completion/complete. A single result is
// returned unchanged; no results give an empty one.
func JoinCompletions(results [][]byte) []byte {
	switch len(results) {
	case 0:
		return []byte(`{"completion":{"values":[],"total":0,"hasMore":false}}`)
	case 1:
		return results[0]
	}
	values, more := []string{}, false
	for _, result := range results {
		var r struct {
			Completion struct {
				Values  []string
				HasMore bool
			}
		}
		if json.Unmarshal(result, &r) != nil {
			continue // what cannot be read has no values
		}
		for _, v := range r.Completion.Values {
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		more = more || r.Completion.HasMore
	}
	more = more || len(values) > maxCompletions
	joined, err := json.Marshal(map[string]any{"values": values[:min(len(values), maxCompletions)], "hasMore": more})
	if err != nil {
		panic(err) // strings and a truth value can be encoded
	}
	return jsonrpc.Set(results[0], joined, "completion")
}
