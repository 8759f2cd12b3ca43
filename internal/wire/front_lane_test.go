package wire

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/loop"
)

// A laneFunc is a Lane.
type laneFunc func(w LaneWriter, body []byte) bool

func (f laneFunc) Serve(w LaneWriter, body []byte) bool { return f(w, body) }

func (laneFunc) Begin(LaneWriter, []byte, *loop.Turn) bool { return false }

func (laneFunc) Idle() {}

// laned is a handler that says its name, and sets a lane.
func laned(l laneFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "handler %s", body)
		w.(LaneWriter).SetLane(l)
	}
}

// echo answers with the body, but for that which is left to the handler.
func echo(w LaneWriter, body []byte) bool {
	if string(body) == "handler's" {
		return false
	}
	w.JSON(200, time.Minute, fmt.Appendf(w.Room(len(body)+5), "lane %s", body))
	return true
}

func TestLane(t *testing.T) {
	_, addr := serve(t, laned(echo))
	c := dial(t, addr)
	r := bufio.NewReader(c)
	for i, tc := range []struct{ said, want string }{
		{post("a"), "handler a"},
		{post("b"), "lane b"},
		{post(""), "lane "},
		{post(strings.Repeat("c", 3000)), "lane " + strings.Repeat("c", 3000)},
		{post("other", "X-Other: 1\r\n"), "handler other"},
		{post("other", "X-Other: 1\r\n"), "lane other"},
		{post("d"), "handler d"},
		{post("handler's"), "handler handler's"},
		{post("e"), "lane e"},
		{post(strings.Repeat("f", 9000)), "handler " + strings.Repeat("f", 9000)}, // it is not all here
	} {
		io.WriteString(c, tc.said)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(i, err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != tc.want || err != nil {
			t.Errorf("%d: %.40q, %v", i, body, err)
		}
		if strings.HasPrefix(tc.want, "lane") && resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d: %v", i, resp.Header)
		}
	}
}

func TestLanePipelined(t *testing.T) {
	_, addr := serve(t, laned(echo))
	c := dial(t, addr)
	io.WriteString(c, post("a")+post("b")+post("c"))
	r := bufio.NewReader(c)
	for _, want := range []string{"handler a", "lane b", "lane c"} {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != want {
			t.Errorf("%q, want %q", body, want)
		}
	}
}

func TestLaneAnswers(t *testing.T) {
	for name, l := range map[string]laneFunc{
		"text from elsewhere": func(w LaneWriter, _ []byte) bool {
			w.JSON(200, time.Minute, []byte(`{"a":1}`))
			return true
		},
		"more than was said": func(w LaneWriter, _ []byte) bool {
			w.JSON(200, time.Minute, append(w.Room(1), bytes.Repeat([]byte("x"), 5000)...))
			return true
		},
		"with a header": func(w LaneWriter, _ []byte) bool {
			w.Header().Set("X-Long", strings.Repeat("h", 500))
			w.JSON(404, time.Minute, append(w.Room(3), "not"...))
			return true
		},
		"only once": func(w LaneWriter, _ []byte) bool {
			w.JSON(200, time.Minute, append(w.Room(5), "first"...))
			w.JSON(404, time.Minute, append(w.Room(5), "other"...))
			return true
		},
		"in pieces": func(w LaneWriter, _ []byte) bool {
			for i := range 3 {
				fmt.Fprintf(w, "piece %d\n", i)
				http.NewResponseController(w).Flush()
			}
			return true
		},
		"nothing": func(LaneWriter, []byte) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			// What the same answer looks like when a handler of net/http gives it.
			_, addr := serve(t, laned(l))
			c := dial(t, addr)
			r := bufio.NewReader(c)
			var got []string
			for range 3 {
				io.WriteString(c, post("x"))
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || len(resp.Header["Date"]) != 1 {
					t.Errorf("%v, %v", err, resp.Header)
				}
				got = append(got, fmt.Sprint(resp.StatusCode, resp.Header.Get("X-Long"), string(body)))
			}
			if got[0] != "200handler x" || got[1] != got[2] || strings.Contains(got[1], "other") {
				t.Errorf("%.100q", got)
			}
		})
	}
}

func TestLanePanics(t *testing.T) {
	_, addr := serve(t, laned(func(LaneWriter, []byte) bool { panic("on purpose") }))
	c := dial(t, addr)
	r := bufio.NewReader(c)
	io.WriteString(c, post("x"))
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	io.CopyN(io.Discard, r, int64(len("handler x")))
	io.WriteString(c, post("x"))
	if b, _ := io.ReadAll(r); len(b) > 0 {
		t.Errorf("%q after a panic", b)
	}
	io.WriteString(dial(t, addr), post("x"))
}

func TestLaneContext(t *testing.T) {
	ended := make(chan error, 1)
	_, addr := serve(t, laned(func(w LaneWriter, _ []byte) bool {
		ctx := w.Context()
		if ctx != w.Context() || ctx.Err() != nil {
			ended <- fmt.Errorf("not the context of a request that runs")
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return true
	}))
	c := dial(t, addr)
	io.WriteString(c, post("x"))
	if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, post("x"))
	c.Close()
	if err := <-ended; err != ErrGone {
		t.Errorf("cause %v", err)
	}
}

// TestLaneWhileWatched takes so long that somebody has begun to look whether the
// client is still there, and then answers or leaves it to the handler.
func TestLaneWhileWatched(t *testing.T) {
	_, addr := serve(t, laned(func(w LaneWriter, body []byte) bool {
		<-time.After(3 * watchAfter)
		return echo(w, body)
	}))
	c, r := open(t, addr)
	for _, body := range []string{"a", "handler's", "b"} {
		io.WriteString(c, post(body))
		if got := hear(t, r); got != "lane "+body && got != "handler handler's" {
			t.Errorf("%q", got)
		}
	}
}
