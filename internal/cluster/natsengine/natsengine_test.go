package natsengine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/enginetest"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

func open(t *testing.T, name string, server *mcptest.NATS) *Engine {
	t.Helper()
	e, err := Open(Options{Cluster: name, Node: "a", URLs: []string{server.URL}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestMain(m *testing.M) { os.Exit(figures.Run(m)) }

func TestNATS(t *testing.T) {
	server := mcptest.StartNATS(t)
	for i, p := range enginetest.Properties {
		t.Run("cluster/engine/nats/"+p.Name, func(t *testing.T) {
			t.Parallel()
			p.Check(t, open(t, fmt.Sprint("team", i), server))
			if strings.HasPrefix(p.Name, "fault/T50") {
				figures.Report(t, "T50", "fifty writers of one document on five replicas, over `nats-server`: every edit is in all copies once, or its writer was told that it is not")
			}
		})
	}
}

// While NATS is away every call fails quickly. Afterwards calls succeed again,
// even if the server has lost its memory.
func TestAway(t *testing.T) {
	server := mcptest.StartNATS(t)
	e := open(t, "team", server)
	if _, err := e.Put(t.Context(), cluster.Live, "a", []byte("before"), 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	server.Down()
	put := func() (uint64, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return e.Put(ctx, cluster.Live, "a", []byte("after"), 0, time.Minute)
	}
	if _, err := put(); err == nil || errors.Is(err, cluster.ErrConflict) {
		t.Errorf("cluster/engine/away: error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	wantRefused(ctx, t, server, func() error { _, err := put(); return err })
	server.Restart()
	for ctx.Err() == nil {
		if _, err := put(); err == nil {
			break
		}
	}
	if v, err := e.Get(t.Context(), cluster.Live, "a"); err != nil || string(v.Data) != "after" {
		t.Errorf("cluster/engine/back: %q, %v", v.Data, err)
	}
}

// Open succeeds while no server is reachable, and connects later.
func TestStartsBefore(t *testing.T) {
	server := mcptest.StartNATS(t)
	server.Down()
	e := open(t, "team", server)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	wantRefused(ctx, t, server, func() error { _, err := e.Get(ctx, cluster.Live, "a"); return err })
	server.Restart()
	var err error
	for ctx.Err() == nil {
		if _, err = e.Put(ctx, cluster.Live, "a", []byte("later"), 0, 0); err == nil {
			break
		}
	}
	if v, got := e.Get(ctx, cluster.Live, "a"); got != nil || string(v.Data) != "later" {
		t.Errorf("cluster/engine/later: %q, %v, after %v", v.Data, got, err)
	}
}

// wantRefused waits until do fails because NATS refuses connections, and says so.
func wantRefused(ctx context.Context, t *testing.T, server *mcptest.NATS, do func() error) {
	t.Helper()
	for {
		err := do()
		switch {
		case err != nil && strings.HasSuffix(err.Error(), "connection refused by "+server.URL):
			return
		case ctx.Err() != nil:
			t.Fatalf("error %v", err)
		}
	}
}
