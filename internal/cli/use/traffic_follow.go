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
	// shownAtMost is how many entries are remembered as shown: as many as a
	// gateway remembers at all.
	shownAtMost = 10_000
	// askAtOnce is how many entries are named in one question.
	askAtOnce = 200
)

// follow shows the newest entries, and then each that ends, until an
// interrupt.
func (v *trafficView) follow(ctx context.Context, limit int, total time.Duration) error {
	if total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, total)
		defer cancel()
	}
	// The stream is opened first, so that nothing falls between it and the list.
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
			fmt.Fprintln(v.env.Stderr, v.env.T("more passed than could be told; some of it is left out", "消息过多，部分未显示"))
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

// ended is nil where the person, or the time, ended it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// showChanged shows those that match. The gateway decides about that: it has
// the bodies that a filter may speak of.
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

// show prints what has ended and was not shown before, oldest first.
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

// printRow prints one row at once: the widths of later ones are not known.
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

// An eventStream is what a running gateway tells as it happens.
type eventStream struct {
	body  *http.Response
	lines *bufio.Reader
}

// eventsOf opens the stream of some topics.
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
