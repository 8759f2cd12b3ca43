package use

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/traffic"
)

const (
	// shownAtMost is how many shown entries are remembered: as many as a
	// gateway keeps.
	shownAtMost = 10_000
	// askAtOnce is the maximum number of entries in one request.
	askAtOnce = 200
)

// follow prints the newest entries and then each entry that ends, until an
// interrupt.
func (v *trafficView) follow(ctx context.Context, limit int, total time.Duration) error {
	if total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, total)
		defer cancel()
	}
	// The stream is opened before the list is read, so that no entry is missed.
	events, err := eventsOf(ctx, v.remote, "traffic")
	if err != nil {
		return ended(ctx, err)
	}
	defer events.close()
	calls, err := v.list(ctx, "", limit)
	if err != nil {
		return ended(ctx, err)
	}
	v.show(calls)
	sayFollowing(v.env, v.env.T("the traffic of the gateway", "网关的消息"), total)
	for {
		topic, data, err := events.next()
		if err != nil {
			return ended(ctx, env.Fail(env.ExitUnreachable, env.CodeNotRunning, "", "%s", v.env.T("the gateway has ended", "网关已结束")))
		}
		if topic == "reset" && v.last > 0 {
			fmt.Fprintln(v.env.Stderr, v.env.T("too many messages to show; some were left out", "消息过多，部分未显示"))
		}
		if topic != "traffic" {
			continue
		}
		var changed []traffic.Call
		if err := json.Unmarshal(data, &changed); err != nil {
			return err
		}
		if err := v.showChanged(ctx, changed); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns nil if an interrupt or the time limit ended the command,
// otherwise err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// showChanged prints the changed entries that match. The gateway applies the
// filter, because it has the bodies.
func (v *trafficView) showChanged(ctx context.Context, changed []traffic.Call) error {
	var ids []string
	for i := range changed {
		if c := &changed[i]; c.Status != traffic.StatusPending && !v.shown[c.ID] {
			ids = append(ids, strconv.FormatUint(c.ID, 10))
		}
	}
	for some := range slices.Chunk(ids, askAtOnce) {
		calls, err := v.list(ctx, "id:"+strings.Join(some, ","), askAtOnce)
		if err != nil {
			return err
		}
		v.show(calls)
	}
	return nil
}

// show prints the entries that have ended and were not shown before, oldest
// first.
func (v *trafficView) show(calls []traffic.Call) {
	for i := range slices.Backward(calls) {
		c := &calls[i]
		if c.Status == traffic.StatusPending || v.shown[c.ID] {
			continue
		}
		v.shown[c.ID] = true
		v.last = max(v.last, c.ID)
		if v.env.JSON {
			env.WriteLine(v.env.Stdout, c)
			continue
		}
		v.printRow(trafficRow(c))
	}
	if len(v.shown) > 2*shownAtMost {
		for id := range v.shown {
			if id+shownAtMost < v.last {
				delete(v.shown, id)
			}
		}
	}
}

// printRow prints one row immediately, because the widths of later rows are not
// known.
func (v *trafficView) printRow(row []string) {
	if !env.IsTerminal(v.env.Stdout) {
		fmt.Fprintln(v.env.Stdout, strings.Join(row, "\t"))
		return
	}
	for i, width := range []int{6, 12, 14, 14, 16, 24, 10, 10, 0} {
		text := env.PadRight(row[i], width)
		if c := paintStatus(i, row[i]); c != "" {
			text = v.env.Paint(c, text)
		}
		fmt.Fprint(v.env.Stdout, text, "  ")
	}
	fmt.Fprintln(v.env.Stdout)
}

// An eventStream reads events from a running gateway.
type eventStream struct {
	body  *http.Response
	lines *bufio.Reader
}

// eventsOf opens the event stream of some topics.
func eventsOf(ctx context.Context, r *control.Remote, topics string) (*eventStream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/events?topics="+topics, nil)
	if err != nil {
		return nil, err
	}
	patient := *r.HTTP
	patient.Timeout = 0
	resp, err := patient.Do(req)
	if err != nil {
		return nil, i18n.Errorf("asking the running gateway: %w", "询问正在运行的网关失败：%w", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, control.Failure(resp)
	}
	return &eventStream{resp, bufio.NewReader(resp.Body)}, nil
}

func (e *eventStream) close() { e.body.Body.Close() }

var errNoEvent = i18n.Errorf("the stream has ended", "流已结束")

// next waits for the next event.
func (e *eventStream) next() (topic string, data []byte, err error) {
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return "", nil, errNoEvent
		}
		line = strings.TrimRight(line, "\r\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && topic != "":
			return topic, data, nil
		case name == "event":
			topic = value
		case name == "data":
			data = []byte(value)
		}
	}
}
