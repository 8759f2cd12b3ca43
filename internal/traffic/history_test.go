package traffic

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{})
		ask := func(status string, took time.Duration) {
			id := r.Begin(&Call{Hop: HopClient, Method: "tools/call"}, nil)
			c := call("github", "search")
			c.Parent = id
			child := r.Begin(c, nil)
			r.End(child, &Outcome{Status: status, Total: took}, nil)
			r.End(id, &Outcome{Status: status, Total: took}, nil)
		}
		ask(StatusOK, 10*time.Millisecond)
		time.Sleep(10 * time.Minute)
		ask(StatusOK, 10*time.Millisecond)
		ask(StatusToolError, 20*time.Millisecond)
		ask(StatusError, 80*time.Millisecond)

		h := r.History("", time.Hour, 96)
		if len(h.Steps) != 60 || h.Step != time.Minute {
			t.Fatalf("%d steps of %v", len(h.Steps), h.Step)
		}
		last := h.Steps[59]
		if last.OK != 1 || last.ToolErrors != 1 || last.Errors != 1 || last.P95 < 80*time.Millisecond || last.P95 > 160*time.Millisecond {
			t.Errorf("the last minute = %+v", last)
		}
		if h.Total.OK != 2 || h.Total.ToolErrors != 1 || h.Total.Errors != 1 || h.Total.P95 < 80*time.Millisecond {
			t.Errorf("the whole hour = %+v", h.Total)
		}
		if h.Steps[49].OK != 1 {
			t.Errorf("ten minutes ago = %+v", h.Steps[49])
		}
		if d := r.History("", 24*time.Hour, 96); len(d.Steps) != 96 || d.Steps[95].OK+d.Steps[94].OK != 2 {
			t.Errorf("a day has %d steps, the last are %+v", len(d.Steps), d.Steps[94:])
		}
		if s := r.History("github", 24*time.Hour, 96); s.Step != 15*time.Minute || s.Steps[95].Errors != 1 {
			t.Errorf("the server's = %v, %+v", s.Step, s.Steps[95])
		}
		if s := r.History("unknown", time.Hour, 96); len(s.Steps) != 4 || s.Steps[3].OK != 0 {
			t.Errorf("of a server without calls = %+v", s)
		}
		if h.Before != nil {
			t.Errorf("before the recorder began there were %+v", h.Before)
		}
		time.Sleep(2 * time.Hour)
		ask(StatusOK, 10*time.Millisecond)
		time.Sleep(time.Hour)
		if h := r.History("", time.Hour, 96); h.Before == nil || h.Before.OK != 1 || h.Total.OK != 0 {
			t.Errorf("the hour before this one = %+v", h.Before)
		}
		if h := r.History("", 24*time.Hour, 96); h.Before != nil {
			t.Errorf("the day before this one is not kept, and is %+v", h.Before)
		}
		time.Sleep(25 * time.Hour)
		for _, s := range r.History("", 24*time.Hour, 96).Steps {
			if s.OK != 0 {
				t.Fatal("what is older than a day is still shown")
			}
		}
	})
}

func TestFilterBetweenTimes(t *testing.T) {
	at := time.Date(2026, 11, 16, 13, 45, 0, 0, time.UTC)
	f, err := ParseFilter("from:2026-11-16T13:45:00Z to:2026-11-16T13:46:00Z")
	if err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[time.Duration]bool{-time.Second: false, 0: true, 59 * time.Second: true, time.Minute: false} {
		if got := f.Match(&Call{Start: at.Add(offset)}, at); got != want {
			t.Errorf("a call at %v: %v", offset, got)
		}
	}
	if _, err := ParseFilter("from:yesterday"); err == nil {
		t.Error("a word is taken for a time")
	}
}
