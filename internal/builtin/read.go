package builtin

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
)

// ReadTool is the tool that reads on in a kept result.
func ReadTool(name string) Tool {
	definition := fmt.Sprintf(`{"name":%q,"description":"Read on in a result that was shown in part (result://…). Give one of offset, lines, grep and jq.",`+
		`"inputSchema":{"type":"object","properties":{"result":{"type":"string","description":"Its result:// URI"},`+
		`"offset":{"type":"integer","description":"Byte to begin at"},"lines":{"type":"string","description":"10-20"},`+
		`"grep":{"type":"string","description":"RE2 pattern; lines that match"},"jq":{"type":"string","description":"jq filter, of JSON"}},"required":["result"]},`+
		`"annotations":{"readOnlyHint":true},"_meta":{"anthropic/maxResultSizeChars":500000}}`, name)
	return Tool{Name: name, Definition: []byte(definition), Compact: true, Run: readKept}
}

// readKept answers a call of read.
func readKept(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	uri, ok := jsonrpc.GetString(args, "result")
	if !ok {
		return plainFailure("result is required: the result:// URI of what was shown in part"), nil
	}
	text, err := ReadPart(ctx, env, uri, queryOf(args))
	if err != nil {
		return plainFailure(err.Error()), nil
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[%s],"isError":false}`, textBlock(text))}, nil
}

// ReadPart reads a part of a kept result, and says where to go on.
func ReadPart(ctx context.Context, env *Env, uri string, q kept.Query) (string, error) {
	data, err := env.Kept(uri)
	if err != nil {
		return "", err
	}
	part, err := kept.Read(ctx, data, q, env.ReadLimit)
	if err != nil {
		return "", err
	}
	if part.Rest != "" {
		part.Text += fmt.Sprintf("\n… go on with %s (%d bytes in all)", part.Rest, len(data))
	}
	return part.Text, nil
}

func queryOf(args []byte) kept.Query {
	var q kept.Query
	q.Lines, _ = jsonrpc.GetString(args, "lines")
	q.Grep, _ = jsonrpc.GetString(args, "grep")
	q.JQ, _ = jsonrpc.GetString(args, "jq")
	if raw := jsonrpc.Get(args, "offset"); raw != nil && json.Unmarshal(raw, &q.Offset) != nil {
		q.Offset = -1 // which is refused
	}
	return q
}
