package roots_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/gateway/roots"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/project"
)

const wait = 5 * time.Second

// A client answers with its roots when it is asked.
type client struct {
	told  roots.Told
	asked int
	say   func(ctx context.Context) (*jsonrpc.Response, error)

	project *project.Project
	moves   int
	again   bool
}

func (c *client) ask(ctx context.Context) {
	c.told.Ask(ctx, wait, func(ctx context.Context) (*jsonrpc.Response, error) {
		c.asked++
		return c.say(ctx)
	}, project.Of, func(p *project.Project, again bool) { c.project, c.again, c.moves = p, again, c.moves+1 })
}

func on(folder string) func(context.Context) (*jsonrpc.Response, error) {
	return func(context.Context) (*jsonrpc.Response, error) {
		return &jsonrpc.Response{Result: []byte(`{"roots":[{"uri":"file://` + folder + `"}]}`)}, nil
	}
}

func silent(ctx context.Context) (*jsonrpc.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *client) expect(t *testing.T, asked int, folder string) {
	t.Helper()
	if c.asked != asked || (c.project == nil) != (folder == "") || !strings.Contains(c.project.ID(), folder) {
		t.Errorf("asked %d times and in %q, want %d times and %q", c.asked, c.project.ID(), asked, folder)
	}
}

func TestAsk(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		c := &client{say: on("/x")}
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() { c.ask(t.Context()) })
		}
		calls.Wait()
		c.expect(t, 1, "/x")
		if c.again {
			t.Error("the first project is another one")
		}
		c.told.Changed()
		c.say = on("/y")
		c.ask(t.Context())
		c.ask(t.Context())
		c.expect(t, 2, "/y")
		if !c.again {
			t.Error("the second project is the first one")
		}
	})
	t.Run("a change meanwhile", func(t *testing.T) {
		c := &client{}
		c.say = func(ctx context.Context) (*jsonrpc.Response, error) {
			c.told.Changed()
			c.say = on("/y")
			return on("/x")(ctx)
		}
		c.ask(t.Context())
		c.expect(t, 1, "/x")
		c.ask(t.Context())
		c.ask(t.Context())
		c.expect(t, 2, "/y")
	})
	t.Run("no answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, start := &client{say: silent}, time.Now()
			c.ask(t.Context())
			c.ask(t.Context())
			c.expect(t, 1, "")
			if took := time.Since(start); took != wait || c.moves != 1 {
				t.Errorf("it took %v, %d moves", took, c.moves)
			}
		})
	})
	t.Run("the request ends", func(t *testing.T) {
		c := &client{say: silent}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		c.ask(gone)
		if c.moves != 0 {
			t.Error("moved without an answer")
		}
		c.say = on("/x")
		c.ask(t.Context())
		c.expect(t, 2, "/x")
	})
	t.Run("a refusal", func(t *testing.T) {
		for _, say := range []func(context.Context) (*jsonrpc.Response, error){
			func(context.Context) (*jsonrpc.Response, error) { return nil, errors.New("no") },
			func(context.Context) (*jsonrpc.Response, error) {
				return &jsonrpc.Response{Err: jsonrpc.MethodNotFound("roots/list", "no")}, nil
			},
		} {
			c := &client{say: say}
			c.ask(t.Context())
			c.ask(t.Context())
			c.expect(t, 1, "")
		}
	})
}
