package mcphttp_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestResumeCall(t *testing.T) {
	w, id := newSession(t, mcp.V2025_11_25)
	t.Run("fault/F14", func(t *testing.T) {
		l := w.listen(callBody(7, "wait", "x", 1), "Mcp-Session-Id", id)
		last := l.want(`"progress":0`)
		take(t, w.started)
		l.close()
		w.release <- struct{}{}
		must.Await(t, "the call finished", func() bool { return w.srv.Stats().InFlight == 0 })
		r := w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", last.ID)
		r.want(`"id":7`, "released x")
		r.wantEnd()
	})
	t.Run("while it runs", func(t *testing.T) {
		l := w.listen(callBody(8, "wait", "y", 1), "Mcp-Session-Id", id)
		primer, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		l.want(`"progress":0`)
		take(t, w.started)
		r := w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", primer.ID)
		r.want(`"progress":0`)
		w.release <- struct{}{}
		r.want(`"id":8`, "released y")
		r.wantEnd()
		if ev, err := l.next(); err == nil {
			t.Errorf("the first connection got %s too", ev.Data)
		}
	})
	if len(w.ended) != 0 {
		t.Error("a call was cancelled by a disconnect")
	}
}

func TestResumeOutsideCalls(t *testing.T) {
	w, id := newSession(t, mcp.V2025_06_18)
	client := w.opening(0).Client
	l := w.listen("", "Mcp-Session-Id", id)
	var ids []string
	for i := range 5 {
		_ = client.Notify(t.Context(), note(i))
		ids = append(ids, l.want(fmt.Sprintf("n%d.", i)).ID)
	}
	l.close()
	must.Await(t, "the stream gone", func() bool { return w.srv.Sessions()[0].Streams == 0 })
	for n, from := range []int{1, 4} {
		_ = client.Notify(t.Context(), note(5+n)) // is queued until a stream is open
		r := w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", ids[from])
		for i := from + 1; i <= 5+n; i++ {
			r.want(fmt.Sprintf("n%d.", i))
		}
		r.close()
		must.Await(t, "the stream gone", func() bool { return w.srv.Sessions()[0].Streams == 0 })
	}
}

func TestResumeIsBounded(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{ReplayBytes: 4000})
	id := w.initialize(mcp.V2025_06_18)
	client := w.opening(0).Client
	l := w.listen("", "Mcp-Session-Id", id)
	var ids []string
	for i := range 100 {
		_ = client.Notify(t.Context(), note(i))
		ids = append(ids, l.want(fmt.Sprintf("n%d.", i)).ID)
	}
	r := w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", ids[95])
	r.want("n96.")
	r.close()
	must.Await(t, "the streams gone", func() bool { return w.srv.Sessions()[0].Streams == 0 })
	fresh := w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", ids[3])
	_ = client.Notify(t.Context(), note(200))
	fresh.want("n200.") // and none of the partly dropped messages
}

// TestResumeShare checks that the sessions of one principal keep a share together,
// that others still resume, and that nothing is counted once a session has ended.
func TestResumeShare(t *testing.T) {
	const replay, sessions = 1000, 100
	w := newWorld(t, mcphttp.ServerLimits{ReplayBytes: replay})
	fill := func(who string, n int) (id string, first string) {
		id = w.initialize(mcp.V2025_06_18, "Test-Principal", who)
		client := w.opening(n).Client
		l := w.listen("", "Mcp-Session-Id", id, "Test-Principal", who)
		for i := range 4 {
			_ = client.Notify(t.Context(), note(i))
			if ev := l.want(fmt.Sprintf("n%d.", i)); i == 0 {
				first = ev.ID
			}
		}
		l.close()
		return id, first
	}
	for n := range sessions {
		fill("ann", n)
		if kept := w.srv.Replays("ann"); kept > 65*replay {
			t.Fatalf("%d sessions keep %d bytes", n+1, kept)
		}
	}
	if kept := w.srv.Replays("ann"); kept < 60*replay {
		t.Errorf("only %d bytes are kept", kept)
	}
	id, first := fill("bob", sessions)
	must.Await(t, "the streams gone", func() bool { return w.srv.Sessions()[sessions].Streams == 0 })
	r := w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", first, "Test-Principal", "bob")
	r.want("n1.")
	r.close()
	w.srv.Close()
	for _, who := range []string{"ann", "bob"} {
		if kept := w.srv.Replays(who); kept != 0 {
			t.Errorf("%d bytes of %s count after the end", kept, who)
		}
	}
}

// TestResumeAhead checks that no stream is resumed after a message that has not been
// sent yet: those before it would count for ever, and others would be dropped for them.
func TestResumeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 100 << 10
		w := newMemoryWorld(t, mcphttp.ServerLimits{ReplayBytes: 3 * size / 2})
		ann := []string{"Test-Principal", "ann"}
		header := append([]string{"Mcp-Session-Id", w.initialize(mcp.V2025_06_18, ann...)}, ann...)
		stuck := w.stuck(callBody(1, "notify", strings.Repeat("x", size), 6), header...)
		var begin [60]byte
		if _, err := io.ReadFull(stuck.Body, begin[:]); err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(string(begin[:]), "id: ")
		stream, _, _ := strings.Cut(id, "-")
		synctest.Wait() // the other messages wait
		ahead := w.listen("", append(header, "Last-Event-ID", stream+"-4")...)
		_ = w.opening(0).Client.Notify(t.Context(), note(1))
		if ev, err := ahead.next(); err != nil || strings.HasPrefix(ev.ID, stream) {
			t.Errorf("got event %s of %s, %v", ev.ID, stream, err)
		}
		ahead.close()
		stuck.Body.Close()
		pass(10 * time.Minute)
		if unread, kept := w.srv.Unfinished("ann"), w.srv.Replays("ann"); unread != 0 || kept != 0 {
			t.Errorf("%d bytes count as unread, %d as kept", unread, kept)
		}
		w.close()
	})
}

func TestResumeForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryWorld(t, mcphttp.ServerLimits{})
		id := w.initialize(mcp.V2025_06_18)
		client := w.opening(0).Client
		l := w.listen("", "Mcp-Session-Id", id)
		_ = client.Notify(t.Context(), note(0))
		first := l.want("n0.")
		_ = client.Notify(t.Context(), note(1))
		l.want("n1.")
		l.close()
		pass(4 * time.Minute)
		r := w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", first.ID)
		r.want("n1.")
		r.close()
		pass(2 * time.Minute)
		r = w.listen("", "Mcp-Session-Id", id, "Last-Event-ID", first.ID)
		_ = client.Notify(t.Context(), note(2))
		r.want("n2.")
		r.close()
		w.close()
	})
}

func TestResumeOfOthers(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	own, other := w.initialize(mcp.V2025_06_18), w.initialize(mcp.V2025_06_18)
	foreign := w.initialize(mcp.V2025_06_18, "Test-Principal", "else")
	l := w.listen("", "Mcp-Session-Id", own)
	for i := range 3 {
		_ = w.opening(0).Client.Notify(t.Context(), note(i))
		l.want(fmt.Sprintf("n%d.", i))
	}
	_ = w.opening(0).Client.Notify(t.Context(), note(3))
	last := l.want("n3.").ID
	stream, _, _ := strings.Cut(last, "-")
	cases := []string{
		stream + "-1", stream + "-0", stream + "-999", stream + "--1", stream + "-18446744073709551615", stream + "-99999999999999999999",
		stream + "-", stream, "-1", "", "é", strings.Repeat("9", 5000), "0123456789abcdef-1", stream + "-1 ", stream + "-0x1", stream + "-+1",
	}
	for i, id := range cases {
		for _, session := range []struct {
			name   string
			at     int
			header []string
		}{
			{"another session", 1, []string{"Mcp-Session-Id", other}},
			{"another principal", 2, []string{"Mcp-Session-Id", foreign, "Test-Principal", "else"}},
		} {
			t.Run(fmt.Sprintf("fault/T06/%s/%d", session.name, i), func(t *testing.T) {
				r := w.listen("", append(session.header, "Last-Event-ID", id)...)
				_ = w.opening(session.at).Client.Notify(t.Context(), note(1000+i))
				r.want(fmt.Sprintf("n%d.", 1000+i))
				r.close()
				must.Await(t, "the streams gone", func() bool {
					for _, info := range w.srv.Sessions()[1:] {
						if info.Streams > 0 {
							return false
						}
					}
					return true
				})
			})
		}
	}
}
