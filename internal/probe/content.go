package probe

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Block is one part of a result: of a tool's content, a resource's contents
// or a prompt's messages.
type Block struct {
	// Role is set in a prompt.
	Role string
	// Type is text, image, audio, resource, resource_link, or a type of the
	// server's own.
	Type string
	Text string
	// URI, Name and MIMEType are set if the server sent them.
	URI, Name, MIMEType string
	// Data holds the decoded bytes of binary content.
	Data []byte
	Raw  json.RawMessage
}

// Blocks returns the parts of a result.
func Blocks(result json.RawMessage) []Block {
	var blocks []Block
	for raw := range jsonrpc.Elements(jsonrpc.Get(result, "content")) {
		blocks = append(blocks, readBlock(raw))
	}
	for raw := range jsonrpc.Elements(jsonrpc.Get(result, "contents")) {
		blocks = append(blocks, readContents(raw))
	}
	for raw := range jsonrpc.Elements(jsonrpc.Get(result, "messages")) {
		role, _ := jsonrpc.GetString(raw, "role")
		content := jsonrpc.Get(raw, "content")
		if len(content) == 0 {
			continue
		}
		b := readBlock(content)
		b.Role = role
		blocks = append(blocks, b)
	}
	return blocks
}

func readBlock(raw []byte) Block {
	kind, _ := jsonrpc.GetString(raw, "type")
	b := Block{Type: kind, Raw: raw}
	b.URI, _ = jsonrpc.GetString(raw, "uri")
	b.Name, _ = jsonrpc.GetString(raw, "name")
	b.MIMEType, _ = jsonrpc.GetString(raw, "mimeType")
	switch kind {
	case "text":
		b.Text, _ = jsonrpc.GetString(raw, "text")
	case "image", "audio":
		b.Data = decodeBase64(raw, "data")
	case "resource":
		inner := readContents(jsonrpc.Get(raw, "resource"))
		inner.Type, inner.Raw = kind, raw
		return inner
	}
	return b
}

func readContents(raw []byte) Block {
	b := Block{Type: "resource", Raw: raw}
	if len(raw) == 0 {
		return b
	}
	b.URI, _ = jsonrpc.GetString(raw, "uri")
	b.MIMEType, _ = jsonrpc.GetString(raw, "mimeType")
	if text, ok := jsonrpc.GetString(raw, "text"); ok {
		b.Text = text
		return b
	}
	b.Data = decodeBase64(raw, "blob")
	return b
}

func decodeBase64(raw []byte, member string) []byte {
	text, _ := jsonrpc.GetString(raw, member)
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return []byte(text)
	}
	return data
}

// Structured returns the structured content of a result; nil if there is none.
func Structured(result json.RawMessage) json.RawMessage {
	return jsonrpc.Get(result, "structuredContent")
}

// TextOf returns all text of a result, one line per block.
func TextOf(result json.RawMessage) string {
	var texts []string
	for _, b := range Blocks(result) {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
