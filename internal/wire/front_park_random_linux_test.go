package wire

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/loop"
)

func TestParkedMisses(t *testing.T) {
	var tried atomic.Int32
	f, client := serveParked(t, func(body string) bool {
		if body == "miss" {
			tried.Add(1)
		}
		return body != "miss"
	})
	c := client()
	for i := range int32(2*maxMisses + stayFor) { // then it keeps its goroutine for a while
		if c.ask(t, "miss"); tried.Load() != min(i+1, maxMisses)+max(0, i-maxMisses-stayFor+1) {
			t.Fatalf("%d tried after %d", tried.Load(), i+1)
		}
	}
	for range stayFor {
		c.ask(t, "hit")
	}
	c.settle(t)
	f.awaitCounted(t, 1, 1)
}

func TestParkedSlowClient(t *testing.T) {
	noPlaces(t)
	f, client := serveParked(t, nil)
	slow, never, other := client(), client(), client()
	text := strings.Repeat("0123456789abcdef", 1<<20)
	slow.send(t, "slow").answer(text)
	call := never.send(t, "never")
	call.w.JSON(200, 50*time.Millisecond, []byte(text))
	call.w.Finish()
	if !other.ask(t, "meanwhile").begun {
		t.Error("not begun")
	}
	f.awaitCounted(t, 2, 2) // who never reads is gone
	slow.hear(t, text)
	slow.settle(t)
}

// A moodyLane answers in every way: at once, soon, from elsewhere, with much.
// What it does is the first letter of the body.
type moodyLane struct{ began *atomic.Int64 }

func (moodyLane) Serve(w LaneWriter, body []byte) bool {
	if body[0] == 'h' {
		return false // the handler's
	}
	if body[0] == 'n' {
		moody{w, string(body)}.JSON()
		return true
	}
	w.Defer()
	moody{w, string(body)}.later()
	return true
}

func (moodyLane) Idle() {}

func (l moodyLane) Begin(w LaneWriter, body []byte, _ *loop.Turn) bool {
	switch body[0] {
	case 'h', 'n':
		return false
	case 'r':
		w.Defer()
		w.Recall()
		return false
	case 'p':
		panic("on purpose")
	}
	l.began.Add(1)
	w.Defer()
	moody{w, string(body)}.later()
	return true
}

type moody struct {
	w    LaneWriter
	body string
}

func (m moody) JSON() {
	text := moodyAnswer(m.body)
	m.w.JSON(200, time.Minute, append(m.w.Room(len(text)), text...))
}

func (m moody) finish() {
	m.JSON()
	m.w.Finish()
}

func (m moody) later() {
	switch m.body[0] {
	case 'g':
		go m.finish()
	case 's':
		time.AfterFunc(rand.N(5*time.Millisecond), m.finish)
	case 'c':
		ctx := m.w.Context() // the client leaves, or it takes a while
		go func() {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
			m.finish()
		}()
	default:
		m.finish()
	}
}

func moodyAnswer(body string) string {
	if body[0] == 'l' {
		return body + strings.Repeat(".", 100<<10)
	}
	return "<" + body + ">"
}

// moodyClient makes requests until one of them ends the connection.
func moodyClient(t *testing.T, addr string, id int, over <-chan struct{}) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(c)
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		default:
		}
		var said strings.Builder
		var bodies []string
		last := false
		for range 1 + rand.IntN(8)/6*2 { // some are pipelined
			const kinds = "aaaaaaaaaaaaggggsscllhnr"
			body := fmt.Sprintf("%c%d.%d.%d", kinds[rand.IntN(len(kinds))], id, i, len(bodies))
			fields := ""
			switch rand.IntN(16) {
			case 0:
				body += strings.Repeat("x", 2*readSize)
			case 1:
				fields = "X-Other: 1\r\n"
			}
			bodies = append(bodies, body)
			said.WriteString(post(body, fields))
		}
		text := said.String()
		if rand.IntN(32) == 0 { // the second piece comes when it comes
			at := rand.IntN(len(text))
			io.WriteString(c, text[:at])
			text = text[at:]
		}
		io.WriteString(c, text)
		switch rand.IntN(100) {
		case 0:
			leave["close"](c)
			return
		case 1:
			leave["reset"](c)
			return
		case 2:
			leave["half"](c)
			io.Copy(io.Discard, r)
			return
		case 3:
			last = true
			io.WriteString(c, post("p"))
		}
		for _, body := range bodies {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Errorf("%.20q: %v", body, err)
				return
			}
			got, err := io.ReadAll(resp.Body)
			if want := moodyAnswer(body); err != nil || string(got) != want && string(got) != "handler "+body {
				t.Errorf("%.20q, want %.20q, %v", got, want, err)
				return
			}
		}
		if last { // it panics, or is answered elsewhere
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, r)
			return
		}
	}
}

// TestParkedRandom has many clients do all of it at once.
func TestParkedRandom(t *testing.T) {
	noPlaces(t)
	var began atomic.Int64
	f, addr := serve(t, parks(moodyLane{&began}))
	over := make(chan struct{})
	time.AfterFunc(1500*time.Millisecond, func() { close(over) })
	var clients sync.WaitGroup
	for id := range 40 {
		clients.Go(func() {
			for n := 0; !t.Failed(); n++ {
				select {
				case <-over:
					return
				default:
					moodyClient(t, addr, 1000*id+n, over)
				}
			}
		})
	}
	clients.Wait()
	f.awaitCounted(t, 0, 0)
	if began.Load() == 0 {
		t.Error("nothing was begun in a loop")
	}
}
