package cli

import (
	"encoding/json"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/say"
)

// parseClient lists the servers in the content of a client's file.
func parseClient(data []byte, c *client) ([]foreign, error) {
	doc, err := asJSON(data, c.format)
	if err != nil || len(doc) == 0 {
		return nil, err
	}
	holder := jsonrpc.Get(doc, c.key)
	if len(holder) == 0 {
		return nil, nil
	}
	var list []foreign
	switch {
	case c.list && holder[0] == '[':
		for item := range jsonrpc.Elements(holder) {
			name, _ := jsonrpc.GetString(item, "name")
			list = append(list, foreign{name, slices.Clone(item)})
		}
	case holder[0] == '{':
		for name, raw := range jsonrpc.Members(holder) {
			if raw[0] == '{' {
				list = append(list, foreign{name, slices.Clone(raw)})
			}
		}
	default:
		return nil, say.Errorf("%s is not what holds servers", "%s 中不是服务", c.key)
	}
	return list, nil
}

// asJSON reads a file of any of the formats; empty when the file is.
func asJSON(data []byte, format clientFormat) ([]byte, error) {
	switch format {
	case clientTOML:
		var doc map[string]any
		if err := toml.Unmarshal(data, &doc); err != nil {
			return nil, err
		}
		return json.Marshal(doc)
	case clientYAML:
		if len(data) == 0 {
			return nil, nil
		}
		return yaml.YAMLToJSON(data)
	}
	if len(data) == 0 {
		return nil, nil
	}
	doc, err := hujson.Standardize(slices.Clone(data))
	if err != nil {
		return nil, err
	}
	return jsonrpc.Compact(nil, doc), nil
}
