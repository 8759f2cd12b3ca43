package answers

import (
	"encoding/json"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
)

// A chat is a request for a chat completion, the form that most backends
// speak.
type chat struct {
	Model       string          `json:"model,omitempty"`
	Messages    []chatMessage   `json:"messages"`
	MaxTokens   json.RawMessage `json:"max_tokens,omitempty"`
	Temperature json.RawMessage `json:"temperature,omitempty"`
	Stop        json.RawMessage `json:"stop,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a string, or parts
}

// chatRequest translates the params of sampling/createMessage.
func chatRequest(cfg *config.Sampling, params []byte) (*chat, error) {
	messages, err := chatMessages(params)
	if err != nil {
		return nil, err
	}
	c := &chat{Model: cfg.Model, Messages: messages}
	if system, ok := jsonrpc.GetString(params, "systemPrompt"); ok && system != "" {
		c.Messages = append([]chatMessage{{"system", system}}, messages...)
	}
	if c.Model == "" {
		for hint := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(params, "modelPreferences", "hints"))) {
			if c.Model, _ = jsonrpc.GetString(hint, "name"); c.Model != "" {
				break
			}
		}
	}
	for _, n := range []struct {
		name string
		to   *json.RawMessage
	}{{"maxTokens", &c.MaxTokens}, {"temperature", &c.Temperature}} {
		if *n.to = jsonrpc.Get(params, n.name); *n.to != nil && !isNumber(*n.to) {
			return nil, jsonrpc.InvalidParams("%s must be a number", n.name)
		}
	}
	if c.Stop = jsonrpc.Get(params, "stopSequences"); c.Stop != nil && c.Stop[0] != '[' {
		return nil, jsonrpc.InvalidParams("stopSequences must be an array")
	}
	return c, nil
}

func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// chatMessages translates the messages, whose content may be one block or a
// list of them.
func chatMessages(params []byte) ([]chatMessage, error) {
	raw := jsonrpc.Get(params, "messages")
	if len(raw) == 0 || raw[0] != '[' {
		return nil, jsonrpc.InvalidParams("messages must be an array")
	}
	var list []chatMessage
	for m := range jsonrpc.Elements(raw) {
		role, _ := jsonrpc.GetString(m, "role")
		if role != "user" && role != "assistant" {
			return nil, jsonrpc.InvalidParams("the role of a message must be user or assistant")
		}
		content, err := chatContent(jsonrpc.Get(m, "content"))
		if err != nil {
			return nil, err
		}
		list = append(list, chatMessage{role, content})
	}
	if len(list) == 0 {
		return nil, jsonrpc.InvalidParams("messages must not be empty")
	}
	return list, nil
}

func chatContent(raw []byte) (any, error) {
	if len(raw) == 0 {
		return nil, jsonrpc.InvalidParams("a message has no content")
	}
	if raw[0] != '[' {
		if kind, _ := jsonrpc.GetString(jsonrpc.AsObject(raw), "type"); kind == "text" {
			text, _ := jsonrpc.GetString(raw, "text")
			return text, nil
		}
		part, err := chatPart(raw)
		return []any{part}, err
	}
	parts := []any{}
	for block := range jsonrpc.Elements(raw) {
		part, err := chatPart(block)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// chatPart translates one content block.
func chatPart(block []byte) (any, error) {
	block = jsonrpc.AsObject(block)
	kind, _ := jsonrpc.GetString(block, "type")
	data, _ := jsonrpc.GetString(block, "data")
	mime, _ := jsonrpc.GetString(block, "mimeType")
	switch kind {
	case "text":
		text, _ := jsonrpc.GetString(block, "text")
		return map[string]any{"type": "text", "text": text}, nil
	case "image":
		return map[string]any{"type": "image_url", "image_url": map[string]string{"url": "data:" + mime + ";base64," + data}}, nil
	case "audio":
		format := "wav"
		if mime == "audio/mpeg" || mime == "audio/mp3" {
			format = "mp3"
		}
		return map[string]any{"type": "input_audio", "input_audio": map[string]string{"data": data, "format": format}}, nil
	}
	return nil, jsonrpc.InvalidParams("content of type %.100q cannot be put to the sampling backend", kind)
}
