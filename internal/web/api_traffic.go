package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
)

const (
	maxRows  = 1000
	maxSlice = 256 << 10
)

// trafficPages serves the traffic record.
type trafficPages struct {
	record *traffic.Recorder
	sight  *sight
	joined *joined
}

type trafficBody struct {
	Rev   uint64      `json:"rev"`
	Calls []shownCall `json:"calls"`
	// More reports whether older entries match.
	More bool `json:"more"`
	// Before maps each replica to the id that its older entries end before, in
	// a cluster.
	Before   map[string]uint64 `json:"before,omitempty"`
	Replicas []Replica         `json:"replicas,omitempty"`
}

func (p *trafficPages) getAll(r *api.Request) (any, error) {
	f, err := filter(r.Who, r.URL.Query().Get("q"))
	if err != nil {
		return nil, err
	}
	limit := int(r.Number("limit", 200, maxRows))
	before := p.joined.before(r)
	calls, rev := p.record.List(f, before, limit+1)
	body := trafficBody{Rev: rev, More: len(calls) > limit}
	if body.More {
		calls = calls[:limit]
	}
	body.Calls = p.shown(calls)
	return p.joined.traffic(r, body, limit), nil
}

// export streams the matching entries as JSON lines, oldest first, with the
// part of each body that was kept.
func (p *trafficPages) export(r *api.Request) (any, error) {
	f, err := filter(r.Who, r.URL.Query().Get("q"))
	if err != nil {
		return nil, err
	}
	calls, _ := p.record.List(f, 0, 1<<20)
	return api.HandlerFunc(func(w http.ResponseWriter, _ *api.Request) {
		w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="traffic.jsonl"`)
		enc := json.NewEncoder(w)
		for _, c := range slices.Backward(calls) {
			line := exportLine{Call: c}
			line.Request, line.RequestWhole = p.exportBody(c.ID, traffic.Request)
			line.Response, line.ResponseWhole = p.exportBody(c.ID, traffic.Response)
			if enc.Encode(line) != nil {
				return
			}
		}
	}), nil
}

type exportLine struct {
	traffic.Call
	Request       any  `json:"request,omitempty"`
	RequestWhole  bool `json:"requestWhole"`
	Response      any  `json:"response,omitempty"`
	ResponseWhole bool `json:"responseWhole"`
}

// exportBody returns the body as JSON if all of it was kept, otherwise as
// text.
func (p *trafficPages) exportBody(id uint64, side traffic.Side) (any, bool) {
	body, whole := p.record.Body(id, side)
	switch {
	case len(body) == 0:
		return nil, whole
	case whole && json.Valid(body):
		return json.RawMessage(body), true
	default:
		return string(body), whole
	}
}

type entryBody struct {
	Call shownCall `json:"call"`
	// Related holds all entries of the same call, on both hops, oldest first.
	Related []shownCall `json:"related"`
}

func (p *trafficPages) get(r *api.Request) (any, error) {
	c, err := p.entry(r)
	if err != nil {
		return nil, err
	}
	related := slices.DeleteFunc(p.record.Related(c.ID), func(c traffic.Call) bool { return !mayRead(r.Who, &c) })
	return entryBody{shownCall{Call: c, Said: p.said(&c)}, p.shown(related)}, nil
}

// entry returns the entry that the request names. One that the principal may not
// see does not exist either.
func (p *trafficPages) entry(r *api.Request) (traffic.Call, error) {
	id, _ := strconv.ParseUint(r.Param("id"), 10, 64)
	c, ok := p.record.Get(id)
	if !ok || !mayRead(r.Who, &c) {
		return traffic.Call{}, api.NotFound(i18n.New("this entry is no longer in the record", "这条记录已不再保留"))
	}
	return c, nil
}

func (p *trafficPages) getBody(r *api.Request) (any, error) {
	c, err := p.entry(r)
	if err != nil {
		return nil, err
	}
	side := traffic.Request
	if r.URL.Query().Get("side") == "res" {
		side = traffic.Response
	}
	body, whole := p.record.Body(c.ID, side)
	if body == nil {
		return nil, api.NotFound(i18n.New("this body is no longer kept", "这个消息体已不再保留"))
	}
	if r.URL.Query().Has("path") {
		return part(r, body, whole)
	}
	return slice(r, body, whole), nil
}

type sliceBody struct {
	Text   string `json:"text"`
	Offset int64  `json:"offset"`
	// Size is the number of bytes kept. Whole reports whether the body was
	// kept completely.
	Size  int64 `json:"size"`
	Whole bool  `json:"whole"`
	// Found holds the offsets of the text in parameter find, at most 1,000.
	Found []int64 `json:"found,omitempty"`
}

// slice returns a part of a body. It never splits a UTF-8 character.
func slice(r *api.Request, body []byte, whole bool) sliceBody {
	out := sliceBody{Size: int64(len(body)), Whole: whole}
	if find := r.URL.Query().Get("find"); find != "" {
		out.Found = findAll(body, []byte(find))
	}
	out.Offset = r.Number("offset", 0, int64(len(body)))
	end := min(out.Offset+r.Number("limit", 64<<10, maxSlice), int64(len(body)))
	for out.Offset < end && !utf8.RuneStart(body[out.Offset]) {
		out.Offset++
	}
	for end > out.Offset && end < int64(len(body)) && !utf8.RuneStart(body[end]) {
		end--
	}
	out.Text = string(body[out.Offset:end])
	return out
}

func findAll(body, text []byte) []int64 {
	found := []int64{}
	for at := 0; len(found) < 1000; {
		i := bytes.Index(body[at:], text)
		if i < 0 {
			break
		}
		found = append(found, int64(at+i))
		at += i + len(text)
	}
	return found
}

func (p *trafficPages) getLogs(r *api.Request) (any, error) {
	server := r.Param("server")
	if server == "*" {
		server = ""
	}
	lines := p.record.Lines(server, uint64(r.Number("after", 0, 1<<62)), int(r.Number("limit", 500, 5000)))
	lines = slices.DeleteFunc(lines, func(l traffic.Line) bool { return !p.sight.mayReadLog(r.Who, l.Server) })
	if lines == nil {
		lines = []traffic.Line{}
	}
	return lines, nil
}

// historyParts is the maximum number of steps of a chart.
const historyParts = 96

type historyBody struct {
	traffic.History
	Uptime []Uptime `json:"uptime"`
}

// getHistory serves the history of one server, or of all client requests if
// no server is named, and the uptime of the servers over the last day.
func (h *Handler) getHistory(r *api.Request) (any, error) {
	server := r.URL.Query().Get("server")
	if server == "" && !(r.Who.MayInspect() && r.Who.Unbound()) || server != "" && !h.sight.sees(r.Who, server) {
		return nil, api.ErrNotFound
	}
	length := time.Duration(r.Number("minutes", 60, 24*60)) * time.Minute
	return historyBody{h.opt.Traffic.History(server, length, historyParts), h.uptime.list(h.sight.servers(r.Who))}, nil
}
