package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
)

// ReadName is the tool that reads stored results in the compact modes.
const ReadName = "read"

// ReadTool returns the tool that reads a stored result.
func ReadTool(name string) Tool {
	definition := fmt.Sprintf(`{"name":%q,"description":"Read on in a result that was shown in part (result://…). Give one of offset, lines, grep and jq.",`+
		`"inputSchema":{"type":"object","properties":{"result":{"type":"string","description":"Its result:// URI"},`+
		`"offset":{"type":"integer","description":"Byte to begin at"},"lines":{"type":"string","description":"10-20"},`+
		`"grep":{"type":"string","description":"RE2 pattern; lines that match"},"jq":{"type":"string","description":"jq filter, of JSON"}},"required":["result"]},`+
		`"annotations":{"readOnlyHint":true},"_meta":{"anthropic/maxResultSizeChars":500000}}`, name)
	return Tool{Name: name, Definition: []byte(definition), Compact: true, Reader: true, Run: readKept}
}

// keptTemplates lists the resource templates of stored results. The results are
// not listed, because only the client that got a result knows it.
var keptTemplates, _ = catalog.ParseTemplates([][]byte{[]byte(`{"resourceTemplates":[{"uriTemplate":"` + kept.Scheme + `{id}{?lines,grep,jq}","name":"kept result",` +
	`"description":"A result that was shown in part: all of it, or what lines (10-20), grep (an RE2 pattern) or jq (a filter) finds in it.","mimeType":"text/plain"}]}`)})

// readKept handles a call of read.
func readKept(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	uri, ok := jsonrpc.GetString(args, "result")
	if !ok {
		return plainFailure("result is required: the result:// URI of what was shown in part"), nil
	}
	q, err := queryOf(args)
	if err != nil {
		return plainFailure(err.Error()), nil
	}
	r, err := ReadPart(ctx, env, uri, q)
	if wire := wireOf(err); wire != nil {
		return nil, wire // the result may be read later
	}
	if err != nil {
		return plainFailure(messageOf(err)), nil
	}
	block := r.Data
	if !r.Block {
		block = textBlock(string(r.Data))
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[%s],"isError":false}`, block)}, nil
}

// ReadPart returns a part of a stored text and where it continues, or a whole
// content block.
func ReadPart(ctx context.Context, env *Env, uri string, q kept.Query) (kept.Result, error) {
	var r kept.Result
	whole := q == (kept.Query{})
	q.Principal = env.Principal
	part, err := kept.ReadFrom(ctx, func() (_ []byte, err error) {
		if r, err = env.Kept(ctx, uri); err == nil && r.Block && !whole {
			mime, _ := kept.Blob(r.Data)
			err = i18n.Errorf("the result is %s, not text: read it without offset, lines, grep and jq", "结果是 %s 而非文本：读取时请勿使用 offset、lines、grep 或 jq", mime)
		}
		return r.Data, err
	}, q, env.ReadLimit, env.JQ)
	if errors.Is(err, kept.ErrOverloaded) {
		err = mcp.Failure(mcp.Overloaded, "", err.Error())
	}
	if err != nil || r.Block {
		return r, err
	}
	if part.Rest != "" {
		part.Text += fmt.Sprintf("\n… go on with %s (%d bytes in all)", part.Rest, len(r.Data))
	}
	return kept.Result{Data: []byte(part.Text)}, nil
}

func queryOf(args []byte) (q kept.Query, err error) {
	for name, text := range map[string]*string{"lines": &q.Lines, "grep": &q.Grep, "jq": &q.JQ} {
		raw, ok := jsonrpc.Get(args, name), false
		if *text, ok = jsonrpc.Text(raw); !ok && len(raw) > 0 && raw[0] != 'n' {
			return q, i18n.Errorf(`%s must be text, such as "%s"`, "%s 必须是文本，例如 \"%s\"", name, map[string]string{"lines": "10-20", "grep": "^error", "jq": ".rows[0]"}[name])
		}
	}
	if raw := jsonrpc.Get(args, "offset"); raw != nil && json.Unmarshal(raw, &q.Offset) != nil {
		return q, i18n.Errorf("offset must be a whole number", "offset 必须是整数")
	}
	return q, nil
}
