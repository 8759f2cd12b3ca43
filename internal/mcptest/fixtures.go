package mcptest

import (
	"context"
	"fmt"
	"os"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcpserver"
)

// TimeServer returns the service "Time" of the sample config: one tool.
func TimeServer() *mcpserver.Server {
	s := mcpserver.New("mcp-time")
	s.SetTools(mcpserver.TimeTool())
	return s
}

// WhereServer returns the demo with an additional tool that returns its process
// id and working directory.
func WhereServer() *mcpserver.Server {
	s := mcpserver.Demo()
	s.SetTools(append(mcpserver.DemoTools(), mcpserver.Tool{Definition: `{"name":"where","inputSchema":{"type":"object"}}`, Run: func(context.Context, *mcpserver.Call) (any, error) {
		dir, err := os.Getwd()
		return mcpserver.Text("%d %s", os.Getpid(), dir), err
	}})...)
	return s
}

// ZhipuServer returns the service "zhipu-web-search" of the sample config: one
// tool with invented search results.
func ZhipuServer() *mcpserver.Server {
	s := mcpserver.New("zhipu-web-search")
	s.SetTools(mcpserver.Tool{
		Definition: `{"name":"web_search","description":"Search the web using Zhipu AI","inputSchema":{"type":"object","properties":` +
			`{"query":{"type":"string","description":"Search query"},` +
			`"num_results":{"type":"number","description":"Number of results to return (default: 10)"}},"required":["query"]}}`,
		Run: func(_ context.Context, c *mcpserver.Call) (any, error) {
			args := struct {
				Query string
				Num   int `json:"num_results"`
			}{Num: 10}
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			var b strings.Builder
			fmt.Fprintf(&b, "Web search results for '%s':", args.Query)
			for i := range args.Num {
				fmt.Fprintf(&b, "\n%d. [Title %[1]d] [https://example.com/%[1]d] [Snippet %[1]d]", i+1)
			}
			return mcpserver.Text("%s", b.String()), nil
		},
	})
	return s
}

// ExampleServer returns the server with the features that the stdio test
// specification names. tools, if positive, adds that many generated tools;
// bytes is the size of the resource example://test/large.
func ExampleServer(tools, bytes int) *mcpserver.Server {
	s := mcpserver.New("example")
	list := []mcpserver.Tool{{
		Definition: `{"name":"example_tool","description":"示例工具","inputSchema":{"type":"object","properties":` +
			`{"param1":{"type":"string","description":"参数1"}},"required":["param1"]}}`,
		Run: func(_ context.Context, c *mcpserver.Call) (any, error) {
			var args struct{ Param1 string }
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			return map[string]any{"content": []any{map[string]any{"type": "text", "text": "工具执行结果: " + args.Param1}}, "isError": false}, nil
		},
	}}
	for i := range tools {
		echo := mcpserver.EchoTool()
		echo.Definition = strings.Replace(echo.Definition, `"name":"echo"`, fmt.Sprintf(`"name":"generated_%04d"`, i), 1)
		list = append(list, echo)
	}
	s.SetTools(list...)
	s.SetResources(mcpserver.Resource{
		Definition: `{"uri":"example://test/resource1","name":"测试资源1","description":"这是一个测试资源","mimeType":"text/plain"}`,
		Read:       fixed("这是资源的内容"),
	}, mcpserver.Resource{
		Definition: `{"uri":"example://test/large","name":"large","description":"A large text","mimeType":"text/plain"}`,
		Read:       fixed(strings.Repeat("大", bytes/len("大"))),
	})
	completer := mcpserver.Prefixed("resource1", "resource2", "test-1", "test-2")
	s.SetTemplates(mcpserver.Template{
		Definition: `{"uriTemplate":"example://test/{id}","name":"测试模板","description":"测试资源模板","mimeType":"text/plain"}`,
		Read:       echoURI, Complete: completer,
	}, mcpserver.Template{
		Definition: `{"uriTemplate":"example://test/{category}/{id}","name":"分类模板","description":"按分类的测试资源模板","mimeType":"text/plain"}`,
		Read:       echoURI,
		Complete: func(argument, typed string, given map[string]string) []string {
			if argument != "id" {
				return mcpserver.Prefixed("documents", "images")(argument, typed, nil)
			}
			var list []string
			for _, v := range completer(argument, typed, nil) {
				list = append(list, given["category"]+"-"+v)
			}
			return list
		},
	})
	s.SetPrompts(examplePrompts()...)
	return s
}

func examplePrompts() []mcpserver.Prompt {
	return []mcpserver.Prompt{{
		Definition: `{"name":"example_prompt","description":"示例提示","arguments":[{"name":"context","description":"上下文信息","required":true}]}`,
		Get: func(_ context.Context, c *mcpserver.Call) (any, error) {
			args := struct{ Context string }{"测试上下文"}
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			return mcpserver.UserMessage("生成的提示描述", "这是一个示例提示，基于上下文：%s", args.Context), nil
		},
		Complete: func(argument, typed string, _ map[string]string) []string {
			return mcpserver.Prefixed("test context", "testing", "test data")(argument, typed, nil)
		},
	}, {
		Definition: `{"name":"no_arguments","description":"A prompt that refuses an arguments member"}`,
		Get: func(_ context.Context, c *mcpserver.Call) (any, error) {
			if c.Arguments != nil {
				return nil, &jsonrpc.Error{Code: 0, Message: "Missing required arguments"}
			}
			return mcpserver.UserMessage("A prompt without arguments", "Hello."), nil
		},
	}}
}

func fixed(text string) func(context.Context, *mcpserver.Call, string) (any, error) {
	return func(_ context.Context, _ *mcpserver.Call, uri string) (any, error) {
		return mcpserver.TextContents(uri, "text/plain", text), nil
	}
}

func echoURI(_ context.Context, _ *mcpserver.Call, uri string) (any, error) {
	return mcpserver.TextContents(uri, "text/plain", "content of "+uri), nil
}
