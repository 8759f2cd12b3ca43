package gateway

import (
	"bytes"
	"context"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
)

// getPrompt routes one prompts/get. Its arguments are the server's to judge;
// an empty map is left out, because some servers take it for missing ones.
func (s *Session) getPrompt(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return s.runPrompt(ctx, s.plain(ctx, from), req)
}

func (s *Session) runPrompt(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	name, ok := jsonrpc.GetString(req.Params, "name")
	if !ok || name == "" {
		return nil, invalidParams("name must be a string").WithData(map[string]string{"parameter": "name"})
	}
	if err := checkMeta(req.Params); err != nil {
		return nil, err
	}
	ref, miss := s.look().all.PromptFor(name, s.readable())
	if miss != nil {
		if err := s.missing(ctx, miss); err != nil {
			return nil, err
		}
		if ref, miss = s.look().all.PromptFor(name, s.readable()); miss != nil {
			return nil, promptNotFound(name, miss)
		}
	}
	u := s.upstream(ref.Server)
	if u == nil {
		return nil, promptNotFound(name, &catalog.Miss{})
	}
	params := req.Params
	if ref.Name != name {
		params = jsonrpc.Set(params, jsonrpc.Quote(ref.Name), "name")
	}
	if args := jsonrpc.Get(params, "arguments"); args != nil && isEmptyObject(args) {
		params = jsonrpc.Set(params, nil, "arguments")
	}
	return s.send(ctx, p, u, &jsonrpc.Request{Method: req.Method, Params: params, Back: p.back})
}

func isEmptyObject(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '{' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}

// complete routes one completion/complete.
func (s *Session) complete(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return s.runComplete(ctx, s.plain(ctx, from), req)
}

func (s *Session) runComplete(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	ref := jsonrpc.Get(req.Params, "ref")
	kind, _ := jsonrpc.GetString(req.Params, "ref", "type")
	if kind != "ref/prompt" && kind != "ref/resource" {
		return nil, invalidParams("ref must be a ref/prompt or a ref/resource")
	}
	if arg := jsonrpc.Get(req.Params, "argument"); len(arg) == 0 || arg[0] != '{' {
		return nil, invalidParams("argument must be an object")
	}
	server, own, miss := s.look().all.CompletionFor(ref, s.readable())
	if miss != nil {
		if err := s.missing(ctx, miss); err != nil {
			return nil, err
		}
		server, own, miss = s.look().all.CompletionFor(ref, s.readable())
	}
	u := s.upstream(server)
	if miss != nil || u == nil {
		if kind == "ref/prompt" {
			name, _ := jsonrpc.GetString(ref, "name")
			return nil, promptNotFound(name, orMiss(miss))
		}
		uri, _ := jsonrpc.GetString(ref, "uri")
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Resource '%s' not found", clip(uri))
	}
	if !u.Features(p.caller).Offers("completions") {
		return &jsonrpc.Response{Result: []byte(`{"completion":{"values":[],"total":0,"hasMore":false}}`)}, nil
	}
	params := req.Params
	if !bytes.Equal(own, ref) {
		params = jsonrpc.Set(params, own, "ref")
	}
	return s.send(ctx, p, u, &jsonrpc.Request{Method: req.Method, Params: params, Back: p.back})
}

func orMiss(m *catalog.Miss) *catalog.Miss {
	if m == nil {
		return &catalog.Miss{}
	}
	return m
}
