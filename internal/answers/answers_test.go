package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A backend is a real HTTP server that speaks chat completions.
type backend struct {
	*httptest.Server
	asked  []byte
	header http.Header
	status int
	answer string
}

func newBackend(t *testing.T) *backend {
	b := &backend{status: http.StatusOK}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked, _ = io.ReadAll(r.Body)
		b.header = r.Header
		if r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(b.status)
		io.WriteString(w, b.answer)
	}))
	t.Cleanup(b.Close)
	return b
}

func testConfig(change func(*config.Config)) func() *config.Config {
	cfg := &config.Config{Limits: config.DefaultLimits()}
	change(cfg)
	return func() *config.Config { return cfg }
}

func answer(t *testing.T, a *Answers, method, params string) (string, *jsonrpc.Error) {
	t.Helper()
	resp, err := a.Answer(t.Context(), method, []byte(params))
	if err != nil {
		wire := new(jsonrpc.Error)
		if !errors.As(err, &wire) {
			t.Fatalf("%s: %v", method, err)
		}
		return "", wire
	}
	if resp == nil {
		return "", nil
	}
	return string(resp.Result), nil
}

const samplingParams = `{"messages":[{"role":"user","content":{"type":"text","text":"请简单介绍一下人工智能"}}],
 "modelPreferences":{"hints":[{"name":"gpt-4"}]},"systemPrompt":"你是一个有用的AI助手。","includeContext":"thisServer",
 "temperature":0.7,"maxTokens":100,"stopSequences":["\n\n","###"],"metadata":{"requestId":"test-sampling-1"}}`

func TestSamplingBackend(t *testing.T) {
	b := newBackend(t)
	b.answer = `{"model":"gpt-4","choices":[{"message":{"role":"assistant","content":"人工智能（AI）是计算机科学的一个分支..."},"finish_reason":"length"}]}`
	a := New(testConfig(func(c *config.Config) {
		c.Sampling = config.Sampling{URL: b.URL + "/v1/", Key: "sk-test"}
	}))
	t.Run("text", func(t *testing.T) {
		got, err := answer(t, a, mcp.MethodSampling, samplingParams)
		want := `{"role":"assistant","content":{"text":"人工智能（AI）是计算机科学的一个分支...","type":"text"},"model":"gpt-4","stopReason":"maxTokens"}`
		if got != want || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
		asked := `{"model":"gpt-4","messages":[{"role":"system","content":"你是一个有用的AI助手。"},{"role":"user","content":"请简单介绍一下人工智能"}],` +
			`"max_tokens":100,"temperature":0.7,"stop":["\n\n","###"]}`
		if diff := cmp.Diff(asked, string(b.asked)); diff != "" {
			t.Error(diff)
		}
		if b.header.Get("Authorization") != "Bearer sk-test" {
			t.Errorf("headers: %v", b.header)
		}
	})
	t.Run("image", func(t *testing.T) {
		b.answer = `{"choices":[{"message":{"content":[{"type":"text","text":"a "},{"type":"text","text":"pixel"}]},"finish_reason":"stop"}]}`
		got, err := answer(t, a, mcp.MethodSampling, `{"messages":[{"role":"user","content":[{"type":"text","text":"?"},{"type":"image","data":"QUJD","mimeType":"image/png"}]}],"maxTokens":50}`)
		if want := `{"role":"assistant","content":{"text":"a pixel","type":"text"},"model":"","stopReason":"endTurn"}`; got != want || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
		asked := `{"messages":[{"role":"user","content":[{"text":"?","type":"text"},{"image_url":{"url":"data:image/png;base64,QUJD"},"type":"image_url"}]}],"max_tokens":50}`
		if diff := cmp.Diff(asked, string(b.asked)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSamplingBackendFails(t *testing.T) {
	b := newBackend(t)
	cfg := testConfig(func(c *config.Config) {
		c.Sampling = config.Sampling{URL: b.URL + "/v1", Model: "m", Key: "sk-secret"}
		c.Limits.ServerMessage = 2000
	})
	good := `{"choices":[{"message":{"content":"x"}}]}`
	for _, c := range []struct {
		name, answer string
		status       int
		reason       mcp.Reason
	}{
		{"refused", `{"error":{"message":"Incorrect API key provided: sk-secret"}}`, 401, mcp.PolicyDenied},
		{"busy", ``, 429, mcp.Overloaded},
		{"redirected", good, 302, mcp.UpstreamProtocol},
		{"failed", good, 500, mcp.UpstreamProtocol},
		{"not JSON", `<html>`, 200, mcp.UpstreamProtocol},
		{"no choice", `{"choices":[]}`, 200, mcp.UpstreamProtocol},
		{"no text", `{"choices":[{"message":{"content":null}}]}`, 200, mcp.UpstreamProtocol},
		{"too large", fmt.Sprintf(`{"choices":[{"message":{"content":%q}}]}`, strings.Repeat("x", 3000)), 200, mcp.ResponseTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.status, b.answer = c.status, c.answer
			_, err := answer(t, New(cfg), mcp.MethodSampling, samplingParams)
			if err == nil || err.Code != jsonrpc.CodeInternal || !strings.Contains(string(err.Data), string(c.reason)) {
				t.Fatalf("got %+v, want reason %s", err, c.reason)
			}
			if strings.Contains(err.Message+string(err.Data), "sk-secret") {
				t.Errorf("the key leaks: %s", err.Message)
			}
		})
	}
	b.Close()
	if _, err := answer(t, New(cfg), mcp.MethodSampling, samplingParams); err == nil || !strings.Contains(string(err.Data), string(mcp.UpstreamUnavailable)) {
		t.Errorf("without a backend: %+v", err)
	}
}

func TestSamplingBackendTimesOut(t *testing.T) {
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer stuck.Close()
	a := New(testConfig(func(c *config.Config) {
		c.Sampling.URL = stuck.URL
		c.Limits.CallIdle = 20 * time.Millisecond
	}))
	if _, err := answer(t, a, mcp.MethodSampling, samplingParams); err == nil || !strings.Contains(string(err.Data), string(mcp.UpstreamTimeout)) {
		t.Errorf("got %+v", err)
	}
}

func TestFixedAnswers(t *testing.T) {
	a := New(testConfig(func(c *config.Config) {
		c.Answers = config.Answers{
			Sampling: &config.SamplingAnswer{Text: "hello", Model: "fixed", StopReason: "endTurn"},
			Elicitation: &config.ElicitationAnswer{Action: "accept", Defaults: true, Fields: map[string]json.RawMessage{
				"name": json.RawMessage(`"张三"`), "timeout": json.RawMessage(`30`), "big": json.RawMessage(`9007199254740993`),
			}},
		}
	}))
	form := func(properties, required string) string {
		return fmt.Sprintf(`{"message":"?","requestedSchema":{"type":"object","properties":{%s},"required":[%s]}}`, properties, required)
	}
	for _, c := range []struct{ name, method, params, want, fails string }{
		{"sampling", mcp.MethodSampling, samplingParams, `{"role":"assistant","content":{"text":"hello","type":"text"},"model":"fixed","stopReason":"endTurn"}`, ""},
		{"sampling without messages", mcp.MethodSampling, `{"maxTokens":1}`, "", "messages must be an array"},
		{"a field", mcp.MethodElicit, form(`"name":{"type":"string","minLength":1}`, `"name"`), `{"action":"accept","content":{"name":"张三"}}`, ""},
		{"a number", mcp.MethodElicit, form(`"big":{"type":"integer"}`, `"big"`), `{"action":"accept","content":{"big":9007199254740993}}`, ""},
		{"a default", mcp.MethodElicit, form(`"port":{"type":"integer","default":5432},"ssl":{"type":"boolean"}`, ``), `{"action":"accept","content":{"port":5432}}`, ""},
		{"nothing for it", mcp.MethodElicit, form(`"other":{"type":"string"}`, `"other"`), "", "other"},
		{"a value that does not fit", mcp.MethodElicit, form(`"timeout":{"type":"integer","maximum":10}`, `"timeout"`), "", "timeout"},
		{"a visit", mcp.MethodElicit, `{"mode":"url","url":"https://example.com","message":"?"}`, "", "only forms"},
		{"no form", mcp.MethodElicit, `{"message":"?"}`, "", "requestedSchema must be an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := answer(t, a, c.method, c.params)
			if c.fails == "" && (err != nil || got != c.want) {
				t.Errorf("got %s, %+v, want %s", got, err, c.want)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Message+string(err.Data), c.fails)) {
				t.Errorf("got %s, %+v, want an error about %s", got, err, c.fails)
			}
		})
	}
	declining := New(testConfig(func(c *config.Config) { c.Answers.Elicitation = &config.ElicitationAnswer{Action: "decline"} }))
	if got, err := answer(t, declining, mcp.MethodElicit, form(`"a":{"type":"string"}`, `"a"`)); got != `{"action":"decline"}` || err != nil {
		t.Errorf("declining: %s, %v", got, err)
	}
}

// A person answers elicitations only.

// Without a configuration nothing is answered.
func TestNothingConfigured(t *testing.T) {
	nothing := testConfig(func(*config.Config) {})
	for _, method := range []string{mcp.MethodSampling, mcp.MethodElicit, "ping"} {
		if got, err := answer(t, New(nothing), method, samplingParams); got != "" || err != nil {
			t.Errorf("%s without any answer: %s, %v", method, got, err)
		}
	}
}
