package oauth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/enginetest"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

// sharedKeeper returns the keeper of a new replica.
func sharedKeeper(t *testing.T, engine cluster.Engine, box *seal.Box) *Keeper {
	t.Helper()
	d := cluster.NewDocuments(cluster.DocumentsOptions{Box: box, Log: slog.New(slog.DiscardHandler), Open: func() (cluster.Engine, error) { return engine, nil }})
	opt := Options{Dir: t.TempDir(), Documents: d}
	d.Put(record.Tokens, cluster.Place{
		Names: func() []string { return nil },
		Copy:  func(name string) record.Copy { return opt.Copy(strings.TrimPrefix(name, record.Tokens)) },
	})
	d.Start()
	t.Cleanup(d.Close)
	<-d.Read()
	k := NewKeeper(t.Context(), opt)
	t.Cleanup(k.Close)
	return k
}

// knows waits until a keeper has the given number of grants.
func knows(t *testing.T, k *Keeper, s *config.Server, want int) {
	t.Helper()
	must.Await(t, fmt.Sprintf("a keeper with %d grants", want), func() bool { return len(k.Statuses(s)) == want })
}

func TestSharedTokens(t *testing.T) {
	as, rs := newHub(t)
	s := rs.entry(nil)
	engine, box := enginetest.New(), seal.Random().Box(seal.Record)
	a, b := sharedKeeper(t, engine, box), sharedKeeper(t, engine, box)
	signIn(t, a, s)
	t.Run("cluster/shared/tokens/sign-in", func(t *testing.T) {
		knows(t, b, s, 1)
		mustPost(t, b, s)
	})
	t.Run("cluster/shared/tokens/one refresh", func(t *testing.T) {
		rs.refuseLast()
		before := as.count("/token")
		gate := make(chan struct{})
		as.set(func() { as.gate = gate })
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				from := []*Keeper{a, b}[i%2]
				if status, err := post(t.Context(), from.Transport(s, "", plain), s.URL); err != nil || status != http.StatusOK {
					t.Errorf("%d, %v", status, err)
				}
			})
		}
		close(gate)
		all.Wait()
		if n := as.count("/token") - before; n != 1 {
			t.Errorf("%d refreshes", n)
		}
	})
	t.Run("cluster/shared/tokens/cut off", func(t *testing.T) {
		engine.Away(errors.New("cut"))
		mustPost(t, b, s) // with the grant that it has
		rs.refuseLast()
		before := as.count("/token")
		var none *record.NoAgreement
		if _, err := post(t.Context(), b.Transport(s, "", plain), s.URL); !errors.As(err, &none) || as.count("/token") != before {
			t.Errorf("error %v, %d refreshes", err, as.count("/token")-before)
		}
		if err := b.Logout(t.Context(), s, ""); !errors.As(err, &none) {
			t.Errorf("logout: error %v", err)
		}
		engine.Away(nil)
	})
	t.Run("cluster/shared/tokens/logout", func(t *testing.T) {
		must.Await(t, "an agreement on the logout", func() bool { return !errors.As(a.Logout(t.Context(), s, ""), new(*record.NoAgreement)) })
		knows(t, a, s, 0)
		knows(t, b, s, 0)
	})
}
