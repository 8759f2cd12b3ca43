package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
)

const (
	// trafficPause is the minimum time between two batches of traffic.
	trafficPause = 100 * time.Millisecond
	// noticePause is the minimum time between two batches of anything for
	// another replica, whose pages read what they show again after each.
	noticePause  = time.Second
	keepAlive    = 25 * time.Second
	writeTimeout = 30 * time.Second
)

// follower is one open event stream.
type follower struct {
	h      *Handler
	who    access.Principal
	w      http.ResponseWriter
	rc     *http.ResponseController
	topics []string
	at     position
	sub    *traffic.Subscription
	// bare is set for another replica, which needs only the names of events.
	bare bool
	far  chan notice // of other replicas
}

// A notice tells a page that something happened on another replica. The page
// reads what it shows of it.
type notice struct {
	Replica string `json:"replica"`
	// Topic is the topic of the event, or hello or lost if the replica was found
	// or does not answer any more.
	Topic string `json:"topic"`
}

// topicReplicas has the notices.
const topicReplicas = "replicas"

// getEvents serves the event stream, which ends with the credential of its
// request. Events are summaries, and a client resumes with Last-Event-ID.
func (h *Handler) getEvents(w http.ResponseWriter, r *api.Request) {
	if !api.SameOrigin(r.Request) {
		api.Fail(w, r.Request, http.StatusForbidden, "origin", i18n.New("the request comes from another site", "请求来自其他网站"))
		return
	}
	h.wg.Add(1)
	defer h.wg.Done()
	defer h.Visits.Enter()()
	f := &follower{h: h, who: r.Who, w: w, rc: http.NewResponseController(w), bare: isAsked(r)}
	f.topics = strings.Split(r.URL.Query().Get("topics"), ",")
	last := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last"))
	f.at = position{h.hub.now(), h.opt.Traffic.Rev()}
	reset := false
	if last != "" {
		if at, ok := h.hub.parse(last); ok {
			f.at = at
		} else {
			reset = true
		}
	}
	if f.wants("traffic") && r.Who.MayConfigure() {
		detach := h.opt.Traffic.Attach()
		defer detach()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	ctx, end := r.Who.Bound(r.Context())
	defer end()
	if f.wants(topicReplicas) && h.opt.Replicas != nil && !f.bare {
		defer f.follow(ctx)()
	}
	f.run(ctx, reset)
}

// follow starts to follow the other replicas. The returned function stops it.
func (f *follower) follow(ctx context.Context) (stop func()) {
	topics := slices.DeleteFunc(slices.Clone(f.topics), func(t string) bool { return t != "traffic" && snapshotTopics[t] == nil })
	ctx, cancel := context.WithCancel(ctx)
	f.far = make(chan notice)
	var done sync.WaitGroup
	done.Go(func() {
		f.h.opt.Replicas.Follow(ctx, f.who, "events?topics="+strings.Join(topics, ","), func(replica, topic string) {
			select {
			case f.far <- notice{replica, topic}:
			case <-ctx.Done():
			}
		})
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func (f *follower) wants(topic string) bool { return slices.Contains(f.topics, topic) }

func (f *follower) run(ctx context.Context, reset bool) {
	wake, stop := f.h.hub.follow()
	defer stop()
	f.sub = f.h.opt.Traffic.Subscribe(f.at.rev)
	defer f.sub.Close()
	first := "hello"
	if reset {
		first = "reset"
	}
	batches := trafficPause
	if f.bare {
		batches = noticePause
	}
	if f.sendJSON(first, hello{f.h.joined.self()}) != nil || f.sendPresent() != nil {
		return
	}
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	var pause, rest <-chan time.Time
	records, events := f.sub.C(), (<-chan struct{})(wake)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-f.h.ctx.Done():
			return
		case <-tick.C:
			err = f.write([]byte(":\n\n"))
		case <-events:
			if err = f.sendEvents(); f.bare {
				// What happens during the rest stays in the hub, each topic once.
				events, rest = nil, time.After(noticePause)
			}
		case <-rest:
			events, rest = wake, nil
		case <-records:
			err = f.sendTraffic()
			// Entries that arrive during the pause stay in the record and are
			// not queued here.
			records, pause = nil, time.After(batches)
		case n := <-f.far:
			err = f.sendJSON(topicReplicas, n)
		case <-pause:
			records, pause = f.sub.C(), nil
		}
		if err != nil {
			return
		}
	}
}

// A hello begins a stream.
type hello struct {
	Replica string `json:"replica,omitempty"` // the replica that sends it, in a cluster
}

// sendPresent sends the current snapshots at the start of a stream. Otherwise
// the page would miss a change between its first requests and the start of the
// stream.
func (f *follower) sendPresent() error {
	for topic, snapshot := range snapshotTopics {
		if f.wants(topic) && !f.bare {
			if err := f.sendJSON(topic, snapshot(f.h, f.who)); err != nil {
				return err
			}
		}
	}
	return f.sendEvents()
}

func (f *follower) sendEvents() error {
	events, gap := f.h.hub.since(f.at.seq)
	if gap {
		f.at.seq = f.h.hub.now()
		return f.send("reset", []byte("{}"))
	}
	for _, e := range events {
		f.at.seq = e.seq
		if err := f.sendEvent(&e); err != nil {
			return err
		}
	}
	return nil
}

var errEnded = i18n.Errorf("the credential has ended", "凭据已失效")

// sendEvent sends an event if the principal may see it.
func (f *follower) sendEvent(e *event) error {
	snapshot := snapshotTopics[e.topic]
	switch {
	case e.topic == topicEnd && f.who.ID == e.owner.ID:
		_ = f.send(topicEnd, e.data) // the stream ends in any case
		return errEnded
	case !f.wants(e.topic):
		return nil
	case f.bare && snapshot != nil:
		return f.send(e.topic, []byte("{}"))
	case snapshot != nil:
		return f.sendJSON(e.topic, snapshot(f.h, f.who))
	case e.topic == "bench" && !f.who.MayResume(e.owner), !f.who.MayLookAt(e.owner.ID):
		return nil
	}
	return f.send(e.topic, e.data)
}

func (f *follower) sendTraffic() error {
	b := f.sub.Take()
	f.at.rev = b.Rev
	if b.Reset {
		return f.sendJSON("reset", hello{f.h.joined.self()})
	}
	b.Calls = slices.DeleteFunc(b.Calls, func(c traffic.Call) bool { return !mayRead(f.who, &c) })
	if f.bare {
		if len(b.Calls) > 0 && f.wants("traffic") {
			return f.send("traffic", []byte("{}"))
		}
		return nil
	}
	if len(b.Calls) > 0 && f.wants("traffic") {
		if err := f.sendJSON("traffic", f.h.traffic.shown(b.Calls)); err != nil {
			return err
		}
	}
	b.Lines = slices.DeleteFunc(b.Lines, func(l traffic.Line) bool { return !f.h.sight.mayReadLog(f.who, l.Server) })
	if len(b.Lines) > 0 && f.wants("logs") {
		return f.sendJSON("logs", b.Lines)
	}
	return nil
}

func (f *follower) sendJSON(topic string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.send(topic, data)
}

func (f *follower) send(topic string, data []byte) error {
	return f.write(fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", f.h.hub.id(f.at), topic, data))
}

func (f *follower) write(b []byte) error {
	// Test servers and HTTP/2 may not support deadlines. The write itself
	// reports the error.
	_ = f.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := f.w.Write(b); err != nil {
		return err
	}
	return f.rc.Flush()
}
