package target

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/probe"
)

// Send makes one call and shows its progress.
func (b *Connection) Send(method string, params json.RawMessage) (*probe.Exchange, error) {
	p := &progressLine{env: b.Env, began: time.Now(), live: env.IsTerminal(b.Env.Stderr)}
	yes := &approval{b, params, p.began}
	noted := meanwhile(b.Ctx, yes.say)
	x, err := b.Call(b.Ctx, method, params, probe.CallOptions{Idle: b.Flags.idle, Limit: b.Flags.limit, OnProgress: p.show, Silence: yes.silence})
	noted()
	p.clear()
	b.remember(method, params, p.began, x, err)
	return x, err
}

// Ask is Send for a request whose error response is an error of the command.
func (b *Connection) Ask(method string, params json.RawMessage) (*probe.Exchange, error) {
	x, err := b.Send(method, params)
	if err == nil {
		err = Answered(b.Env, x, b.To)
	}
	return x, err
}

// A progressLine shows the progress of a call: a bar on a terminal, otherwise
// one line per update.
type progressLine struct {
	env   *env.Env
	began time.Time
	live  bool

	mu    sync.Mutex
	shown bool
	done  bool
}

const barWidth = 20

func (p *progressLine) show(n probe.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	count := fmt.Sprintf("%g", n.Progress)
	if n.Total > 0 {
		count = fmt.Sprintf("%g/%g", n.Progress, n.Total)
	}
	if !p.live {
		fmt.Fprintf(p.env.Stderr, "%s %s\n", count, n.Message)
		return
	}
	bar := ""
	if n.Total > 0 {
		full := min(max(int(float64(barWidth)*n.Progress/n.Total), 0), barWidth)
		bar = "▕" + strings.Repeat("█", full) + strings.Repeat("░", barWidth-full) + "▏ "
	}
	p.shown = true
	took := time.Since(p.began).Round(time.Second)
	fmt.Fprintf(p.env.Stderr, "\r\x1b[K%s%s %s  %02d:%02d  %s", bar, count, n.Message, int(took.Minutes()), int(took.Seconds())%60,
		p.env.Paint(env.Dim, p.env.T("^C cancels", "^C 取消")))
}

func (p *progressLine) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	if p.shown {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}
