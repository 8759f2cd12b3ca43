package mcphttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
)

// An ending is the outcome of a call.
type ending struct {
	resp *jsonrpc.Response
	err  error
}

// endings hear the outcome of one call, which has room for no other.
type endings chan ending

func (e endings) Complete(_ *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	select {
	case e <- ending{resp, err}:
	default:
		panic("a call ended twice")
	}
}

func lateContext(parent context.Context) *late.Context {
	ctx := new(late.Context)
	ctx.Init(parent)
	return ctx
}

// start begins a call on a connection that was kept.
func start(t *testing.T, c *Client, ctx context.Context, req *jsonrpc.Request) endings {
	t.Helper()
	done := make(endings, 1)
	if !c.Begin(ctx, new(jsonrpc.Turn), req, done) {
		t.Fatal("the call did not begin")
	}
	return done
}

// plainWords drops what depends on who reads a connection, and on its ports.
var plainWords = regexp.MustCompile(`read tcp [^ ]+: (?:read: )?`)

// describe says all that somebody may make of an outcome.
func describe(e ending) string {
	var b strings.Builder
	if e.resp != nil {
		fmt.Fprintf(&b, "result %s, error %+v; ", e.resp.Result, e.resp.Err)
		e.resp.Release()
	}
	if e.err == nil {
		return b.String()
	}
	var status *StatusError
	if errors.As(e.err, &status) {
		fmt.Fprintf(&b, "status %d %q %v; ", status.Status, status.Body, status.Modern)
	}
	var answer *AnswerError
	if errors.As(e.err, &answer) {
		fmt.Fprintf(&b, "answer %q %q; ", answer.ContentType, answer.Head)
	}
	fmt.Fprintf(&b, "%T %s, not sent %v, bad %v, large %v, ended %v", e.err, plainWords.ReplaceAllString(e.err.Error(), ""), NotSent(e.err),
		errors.Is(e.err, jsonrpc.ErrBadAnswer), errors.Is(e.err, jsonrpc.ErrTooLarge), errors.Is(e.err, ErrStreamEnded))
	return b.String()
}

// settled wants nothing in the air, but for streams that run out.
func settled(t *testing.T, c *Client) {
	t.Helper()
	c.work.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first != nil {
		t.Errorf("call %d is still in the air, %v", c.first.id, cmp.Or(c.first.cause, errors.New("not ended")))
	}
}
