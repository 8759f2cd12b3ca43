package httpclient

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

func TestClientOpenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := make(chan string, 10)
		answers := make(chan received, 1)
		h := newHeard()
		h.answer = func(context.Context, *jsonrpc.Request) (*jsonrpc.Response, error) {
			return nil, jsonrpc.Errorf(-32601, "no")
		}
		var opened []time.Time
		c, _ := serveMemory(t, ClientOptions{Handler: h}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				answers <- receive(r)
				w.WriteHeader(http.StatusAccepted)
				return
			}
			opened = append(opened, time.Now())
			last <- r.Header.Get("Last-Event-ID")
			send := events(w)
			switch len(opened) {
			case 1:
				send("id: a\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n1\"}")
			case 2:
				send("id: b\nretry: 3000\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}")
			default:
				<-r.Context().Done()
			}
		})
		c.OpenStream(t.Context())
		c.OpenStream(t.Context()) // one is enough
		if got := <-h.notes; got != "n1" {
			t.Errorf("heard %s", got)
		}
		if got := <-answers; string(got.ID) != "1" || jsonrpc.ParseError(got.Err).Code != -32601 {
			t.Errorf("answered %+v", got)
		}
		for _, want := range []string{"", "a", "b"} {
			if got := <-last; got != want {
				t.Errorf("Last-Event-ID %q, want %q", got, want)
			}
		}
		if d := opened[1].Sub(opened[0]); d < retryFloor || d > 2*time.Second {
			t.Errorf("opened again after %v", d)
		}
		if d := opened[2].Sub(opened[1]); d < 3*time.Second || d > 3300*time.Millisecond {
			t.Errorf("opened again after %v, the server asked for 3 s", d)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestClientStreamRefused(t *testing.T) {
	tests := []struct {
		name     string
		statuses []int // status of each GET; the last is repeated; 200 ends at once
		gets     int32 // minimum after an hour
		most     int32
		downs    int
	}{
		{"none", []int{405}, 1, 1, 0},
		{"no route", []int{404}, 1, 1, 0},
		{"session gone", []int{200, 404}, 2, 2, 1},
		{"unavailable", []int{503}, 100, 140, 1},
		{"closed at once", []int{200}, 100, 140, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gets atomic.Int32
				downs := make(chan error, 1000)
				c, _ := serveMemory(t, ClientOptions{OnDown: func(err error) { downs <- err }}, func(w http.ResponseWriter, r *http.Request) {
					n := int(gets.Add(1))
					status := tt.statuses[min(n, len(tt.statuses))-1]
					if status == 200 {
						events(w)
						return
					}
					w.WriteHeader(status)
				})
				c.OpenStream(t.Context())
				<-time.After(time.Hour)
				if got := gets.Load(); got < tt.gets || got > tt.most {
					t.Errorf("%d GETs in an hour, want %d to %d", got, tt.gets, tt.most)
				}
				if len(downs) != tt.downs {
					t.Errorf("told %d times that it is down, want %d", len(downs), tt.downs)
				}
				if err := c.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestClientSilentStream checks fault/F23: a stream that is silent for long is
// probed.
func TestClientSilentStream(t *testing.T) {
	for _, alive := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var pings atomic.Int32
			downs := make(chan error, 10)
			release := make(chan struct{})
			c, vanish := serveMemory(t, ClientOptions{OnDown: func(err error) { downs <- err }}, func(w http.ResponseWriter, r *http.Request) {
				msg := receive(r)
				if msg.Method == "ping" {
					pings.Add(1)
					answerJSON(w, msg.ID, `{}`)
					return
				}
				events(w)(": open")
				<-release
			})
			defer close(release)
			done := make(chan error, 1)
			go func() {
				_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "tools/call"})
				done <- err
			}()
			synctest.Wait()
			if !alive {
				vanish()
			}
			<-time.After(5 * time.Minute)
			if alive {
				if got := pings.Load(); got != 3 || len(downs) != 0 || len(done) != 0 {
					t.Errorf("%d pings in 5 minutes, %d times down, call ended: %v", got, len(downs), len(done) > 0)
				}
			} else {
				if len(downs) != 1 {
					t.Errorf("told %d times that it is down, want once", len(downs))
				}
				if len(done) != 1 || !errors.Is(<-done, ErrStreamEnded) {
					t.Error("the call did not end")
				}
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
