package gateway

import (
	"context"
	"net/http"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/safehttp"
)

// configured answers what clients ask us: first a person who is there, then a model
// behind the sampling backend, else the fixed answers of the file.
type configured struct {
	cfg    func() *config.Config
	first  Answerer // may be nil
	client *http.Client
}

func newAnswerer(cfg func() *config.Config, first Answerer) Answerer {
	return &configured{cfg: cfg, first: first, client: safehttp.NewConfigured(0)}
}

// Answer implements Answerer.
func (c *configured) Answer(ctx context.Context, method string, params []byte) (*jsonrpc.Response, error) {
	if c.first != nil {
		if resp, err := c.first.Answer(ctx, method, params); resp != nil || err != nil {
			return resp, err
		}
	}
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

// fixedSampling is the configured message of a model, nil when there is none.
func fixedSampling(answer *config.SamplingAnswer, params []byte) (*jsonrpc.Response, error) {
	if answer == nil {
		return nil, nil
	}
	if _, err := chatMessages(params); err != nil {
		return nil, err
	}
	return sampled(answer.Text, answer.Model, answer.StopReason), nil
}

// sampled is the result of sampling/createMessage.
func sampled(text, model, stopReason string) *jsonrpc.Response {
	return &jsonrpc.Response{Result: marshal(struct {
		Role       string            `json:"role"`
		Content    map[string]string `json:"content"`
		Model      string            `json:"model"`
		StopReason string            `json:"stopReason,omitempty"`
	}{"assistant", map[string]string{"type": "text", "text": text}, model, stopReason})}
}

// fixedElicitation fills a form from the configuration, nil when there is
// nothing to fill it with.
func fixedElicitation(answer *config.ElicitationAnswer, params []byte) (*jsonrpc.Response, error) {
	if answer == nil {
		return nil, nil
	}
	if mode, ok := jsonrpc.GetString(params, "mode"); ok && mode != "form" {
		return nil, methodNotFound(mcp.MethodElicit, "only forms can be answered from the configuration")
	}
	schema := jsonrpc.Get(params, "requestedSchema")
	if len(schema) == 0 || schema[0] != '{' {
		return nil, invalidParams("requestedSchema must be an object")
	}
	if answer.Action != "accept" {
		return &jsonrpc.Response{Result: marshal(map[string]string{"action": answer.Action})}, nil
	}
	content := []byte(`{}`)
	for field, rules := range jsonrpc.Members(orEmptyObject(jsonrpc.Get(schema, "properties"))) {
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
		return nil, methodNotFound(mcp.MethodElicit, "answers.elicitation does not fit: "+bad[0].Message.String())
	}
	return &jsonrpc.Response{Result: append(append([]byte(`{"action":"accept","content":`), content...), '}')}, nil
}
