// Package answers answers sampling and elicitation requests that clients send to
// the gateway, as the configuration says: with a model behind a chat completion
// API, or with fixed answers.
package answers

import (
	"context"
	"fmt"
	"net/http"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/safehttp"
)

// Answers uses the configured sampling backend, or else the fixed answers of the
// config file.
type Answers struct {
	cfg    func() *config.Config
	client *http.Client
}

// New returns Answers that uses the configuration returned by cfg.
func New(cfg func() *config.Config) *Answers {
	return &Answers{cfg: cfg, client: safehttp.NewConfigured(0)}
}

// Answer answers a question; nil means that nothing is configured for it.
func (c *Answers) Answer(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
	cfg := c.cfg()
	switch method {
	case mcp.MethodSampling:
		if cfg.Sampling.URL != "" {
			return c.sample(ctx, cfg, params)
		}
		return fixedSampling(cfg.Answers.Sampling, params)
	case mcp.MethodElicit:
		return fixedElicitation(cfg.Answers.Elicitation, params)
	}
	return nil, nil
}

// fixedSampling returns the configured message; nil if there is none.
func fixedSampling(answer *config.SamplingAnswer, params []byte) (*jsonrpc.Response, error) {
	if answer == nil {
		return nil, nil
	}
	if _, err := chatMessages(params); err != nil {
		return nil, err
	}
	return sampled(answer.Text, answer.Model, answer.StopReason), nil
}

// sampled returns a result of sampling/createMessage.
func sampled(text, model, stopReason string) *jsonrpc.Response {
	result := fmt.Appendf(nil, `{"role":"assistant","content":{"text":%s,"type":"text"},"model":%s}`, jsonrpc.Quote(text), jsonrpc.Quote(model))
	if stopReason != "" {
		result = jsonrpc.Set(result, jsonrpc.Quote(stopReason), "stopReason")
	}
	return &jsonrpc.Response{Result: result}
}

// fixedElicitation fills a form from the configuration; it returns nil if the
// configuration has no values for it.
func fixedElicitation(answer *config.ElicitationAnswer, params []byte) (*jsonrpc.Response, error) {
	if answer == nil {
		return nil, nil
	}
	if mode, ok := jsonrpc.GetString(params, "mode"); ok && mode != "form" {
		return nil, jsonrpc.MethodNotFound(mcp.MethodElicit, "only forms can be answered from the configuration")
	}
	schema := jsonrpc.Get(params, "requestedSchema")
	if len(schema) == 0 || schema[0] != '{' {
		return nil, jsonrpc.InvalidParams("requestedSchema must be an object")
	}
	if answer.Action != "accept" {
		return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"action":%s}`, jsonrpc.Quote(answer.Action))}, nil
	}
	content := []byte(`{}`)
	for field, rules := range jsonrpc.Members(jsonrpc.AsObject(jsonrpc.Get(schema, "properties"))) {
		value := []byte(answer.Fields[field])
		if value == nil && answer.Defaults {
			value = jsonrpc.Get(rules, "default")
		}
		if value != nil {
			content = jsonrpc.Set(content, value, field)
		}
	}
	form := catalog.Item{InputSchema: schema}
	if bad := form.Validate(content); len(bad) > 0 {
		return nil, jsonrpc.MethodNotFound(mcp.MethodElicit, "answers.elicitation does not fit: "+bad[0].Message.String())
	}
	return &jsonrpc.Response{Result: append(append([]byte(`{"action":"accept","content":`), content...), '}')}, nil
}
