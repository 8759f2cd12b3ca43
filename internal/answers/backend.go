package answers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// sample asks the configured model for the message.
func (c *Answers) sample(ctx context.Context, cfg *config.Config, params []byte) (*jsonrpc.Response, error) {
	chat, err := chatRequest(&cfg.Sampling, params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Limits.CallIdle)
	defer cancel()
	body, err := json.Marshal(chat)
	if err != nil {
		return nil, jsonrpc.InvalidParams("%v", err)
	}
	raw, err := c.post(ctx, cfg, body)
	if err != nil {
		return nil, err
	}
	return readChat(raw, chat.Model)
}

// post sends the request to the backend. It drops the text of an error response,
// which may quote the key.
func (c *Answers) post(ctx context.Context, cfg *config.Config, body []byte) ([]byte, error) {
	url := strings.TrimSuffix(cfg.Sampling.URL, "/") + "/chat/completions"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, backendFailure(mcp.UpstreamUnavailable, "sampling.url is not a URL")
	}
	req.Header.Set("Content-Type", "application/json")
	if key := cfg.Sampling.Key.Reveal(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.client.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, backendFailure(mcp.UpstreamTimeout, "the sampling backend did not answer in time")
	case err != nil:
		return nil, backendFailure(mcp.UpstreamUnavailable, "the sampling backend cannot be reached")
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, backendFailure(mcp.PolicyDenied, "the sampling backend refused the configured key")
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		return nil, backendFailure(mcp.Overloaded, fmt.Sprintf("the sampling backend answered HTTP %d", resp.StatusCode))
	case resp.StatusCode != http.StatusOK:
		return nil, backendFailure(mcp.UpstreamProtocol, fmt.Sprintf("the sampling backend answered HTTP %d", resp.StatusCode))
	}
	limit := cfg.Limits.ServerMessage
	raw, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, backendFailure(mcp.UpstreamClosed, "the sampling backend broke off its answer")
	case int64(len(raw)) > limit:
		return nil, backendFailure(mcp.ResponseTooLarge, fmt.Sprintf("the answer of the sampling backend is over the limit of %d bytes", limit))
	}
	return raw, nil
}

func backendFailure(why mcp.Reason, message string) error {
	return mcp.Failure(why, "sampling", message)
}

// stopReasons maps the stop reasons of chat completions to MCP's.
var stopReasons = map[string]string{"stop": "endTurn", "length": "maxTokens", "tool_calls": "toolUse"}

// readChat reads what the model wrote.
func readChat(raw []byte, asked string) (*jsonrpc.Response, error) {
	var chat struct {
		Model   string
		Choices []struct {
			Message struct{ Content json.RawMessage }
			Finish  string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(raw, &chat); err != nil || len(chat.Choices) == 0 {
		return nil, backendFailure(mcp.UpstreamProtocol, "the sampling backend did not answer with a chat completion")
	}
	choice := chat.Choices[0]
	text, ok := chatText(choice.Message.Content)
	if !ok {
		return nil, backendFailure(mcp.UpstreamProtocol, "the sampling backend answered without a text")
	}
	reason := choice.Finish
	if known, ok := stopReasons[reason]; ok {
		reason = known
	}
	chat.Model = cmp.Or(chat.Model, asked)
	return sampled(text, chat.Model, reason), nil
}

// chatText is the text of a message: a string, or the text parts of a list.
func chatText(content json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(content, &text) == nil && string(content) != "null" {
		return text, true
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(content, &parts) != nil || len(parts) == 0 {
		return "", false
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, true
}
