package pressure

import (
	"runtime"
	"testing"
	"time"
)

// TestThreads checks that Go code runs on one thread after calls have had
// nothing to do side by side for a while, on all threads as soon as they have,
// and that Stop restores the setting.
func TestThreads(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	defer runtime.SetDefaultGOMAXPROCS()
	runtime.SetDefaultGOMAXPROCS()
	usual, single := runtime.GOMAXPROCS(0), 1
	if runtime.GOOS != "linux" {
		single = usual
	}
	const pipe, http, oneClient, manyClients = true, false, true, false
	now, used := time.Now(), time.Duration(0)
	p := New(func() int64 { return 1 << 40 }, func() {})
	p.threads.used = func() time.Duration { return used }
	for _, step := range []struct {
		why       string
		process   bool
		oneClient bool
		size      int
		calls     int // at the same time
		times     int // measurements
		threads   int
		busy      time.Duration
	}{
		{"at first", pipe, manyClients, 100, 1, narrowFor - 1, usual, 0},
		{"with one call at a time", pipe, manyClients, 100, 1, 1, single, 0},
		{"with one large call at a time", pipe, manyClients, 1 << 20, 1, 1, single, 0},
		{"without calls", pipe, manyClients, 0, 0, 1, single, 0},
		{"with calls of two clients", pipe, manyClients, 100, 2, 1, usual, 0},
		{"soon after that", pipe, manyClients, 100, 1, narrowFor - 1, usual, 0},
		{"later", pipe, manyClients, 100, 1, 1, single, 0},
		{"with calls to HTTP", http, manyClients, 100, 1, 2 * narrowFor, usual, 0},
		{"with 16 small calls of one client", pipe, oneClient, 100, 16, narrowFor, single, 0},
		{"with 2 large calls of one client", pipe, oneClient, largeMessage, 2, 2 * narrowFor, usual, 0},
		{"with a request that computes, of one client", pipe, oneClient, 100, 1, narrowFor, single, measureEvery},
		{"with requests that compute, of others", pipe, manyClients, 100, 1, 1, usual, measureEvery},
		{"with a call at a time again", pipe, manyClients, 100, 1, narrowFor, single, measureEvery / 2},
		{"with other requests alone, which compute", pipe, manyClients, 100, 0, 1, usual, measureEvery},
		{"before Stop", pipe, oneClient, 100, 16, narrowFor, single, 0},
	} {
		for range step.times {
			var spans []Span
			for range step.calls {
				spans = append(spans, p.Begin())
			}
			for _, s := range spans {
				s.End(step.process, step.oneClient, step.size)
			}
			now, used = now.Add(measureEvery), used+step.busy
			p.levelAt(now)
		}
		if got := runtime.GOMAXPROCS(0); got != step.threads {
			t.Errorf("%d threads %s, want %d", got, step.why, step.threads)
		}
	}
	p.Stop()
	if got := runtime.GOMAXPROCS(0); got != usual {
		t.Errorf("%d threads after Stop, want %d", got, usual)
	}
}

// TestThreadsOfUser checks that the number of threads stays as the user set it.
func TestThreadsOfUser(t *testing.T) {
	t.Setenv("GOMAXPROCS", "7")
	defer runtime.SetDefaultGOMAXPROCS()
	runtime.GOMAXPROCS(7)
	now := time.Now()
	p := New(func() int64 { return 1 << 40 }, func() {})
	for range 2 * narrowFor {
		p.Begin().End(true, true, 100)
		now = now.Add(measureEvery)
		p.levelAt(now)
	}
	p.Stop()
	if got := runtime.GOMAXPROCS(0); got != 7 {
		t.Errorf("%d threads, want 7", got)
	}
}
