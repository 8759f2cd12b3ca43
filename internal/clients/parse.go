package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// Parse lists the servers in the content of a client's file.
func Parse(data []byte, c *Client) ([]foreign, error) {
	doc, err := asJSON(data, c.format)
	if err != nil || len(doc) == 0 {
		return nil, err
	}
	holder := doc
	for _, key := range c.holder(doc) {
		holder = jsonrpc.Get(holder, key)
	}
	if len(holder) == 0 {
		return nil, nil
	}
	var list []foreign
	switch {
	case c.list && holder[0] == '[':
		for item := range jsonrpc.Elements(holder) {
			name, _ := jsonrpc.GetString(item, "name")
			list = append(list, foreign{Name: name, raw: slices.Clone(item)})
		}
	case holder[0] == '{':
		for name, raw := range jsonrpc.Members(holder) {
			if raw[0] == '{' {
				list = append(list, foreign{Name: name, raw: slices.Clone(raw)})
			}
		}
	default:
		return nil, i18n.Errorf("%s is not what holds servers", "%s 中不是服务器", c.key)
	}
	off := c.off(doc)
	for i := range list {
		list[i].off = slices.Contains(off, list[i].Name)
	}
	return list, nil
}

// holder returns the path of the object that holds the servers. OpenCode nests
// it one level deeper since version 2.
func (c *Client) holder(doc []byte) []string {
	inner := jsonrpc.Get(jsonrpc.Get(doc, c.key), "servers")
	if c.ID == "opencode" && len(inner) > 0 && inner[0] == '{' && jsonrpc.Get(inner, "command") == nil && jsonrpc.Get(inner, "url") == nil {
		return []string{c.key, "servers"}
	}
	return []string{c.key}
}

// off returns the servers on the client's list of disabled servers.
func (c *Client) off(doc []byte) (names []string) {
	path := c.rules().off
	if len(path) == 0 {
		return nil
	}
	for _, key := range path {
		doc = jsonrpc.Get(doc, key)
	}
	if json.Unmarshal(doc, &names) != nil {
		return nil // there is no such list
	}
	return names
}

// byteOrderMark is written by some editors at the beginning of a file.
const byteOrderMark = "\ufeff"

// asJSON converts a file of any of the formats to JSON; empty if the file is
// empty.
func asJSON(data []byte, format clientFormat) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	switch format {
	case clientTOML:
		var doc map[string]any
		if err := toml.Unmarshal(data, &doc); err != nil {
			return nil, tomlError(err)
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
	doc, err := document.PlainJSON(data)
	if err != nil {
		return nil, err
	}
	return jsonrpc.Compact(nil, doc), nil
}

// tomlError converts a TOML error to our format, with its position.
func tomlError(err error) error {
	var at problem.Pos
	var wrong *toml.DecodeError
	if !errors.As(err, &wrong) {
		return err
	}
	at.Line, at.Col = wrong.Position()
	return document.AtPlace(at, i18n.Plain(strings.TrimPrefix(wrong.Error(), "toml: ")))
}
