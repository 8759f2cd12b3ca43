package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
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

func (p *trafficPages) getAll(w http.ResponseWriter, r *api.Request) {
	f, err := filter(r.Who, r.URL.Query().Get("q"))
	if err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "filter", i18n.Why(err))
		return
	}
	limit := int(r.Number("limit", 200, maxRows))
	before := p.joined.before(r)
	calls, rev := p.record.List(f, before, limit+1)
	body := trafficBody{Rev: rev, More: len(calls) > limit}
	if body.More {
		calls = calls[:limit]
	}
	body.Calls = p.shown(calls)
	api.Reply(w, http.StatusOK, p.joined.traffic(r, body, limit))
}

// export streams the matching entries as JSON lines, oldest first, with the
// part of each body that was kept.
func (p *trafficPages) export(w http.ResponseWriter, r *api.Request) {
	f, err := filter(r.Who, r.URL.Query().Get("q"))
	if err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "filter", i18n.Why(err))
		return
	}
	calls, _ := p.record.List(f, 0, 1<<20)
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="traffic.jsonl"`)
	enc := json.NewEncoder(w)
	for i := len(calls) - 1; i >= 0; i-- {
		line := exportLine{Call: calls[i]}
		line.Request, line.RequestWhole = p.exportBody(calls[i].ID, traffic.Request)
		line.Response, line.ResponseWhole = p.exportBody(calls[i].ID, traffic.Response)
		if enc.Encode(line) != nil {
			return
		}
	}
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

func (p *trafficPages) get(w http.ResponseWriter, r *api.Request) {
	c, ok := p.entry(w, r)
	if !ok {
		return
	}
	related := slices.DeleteFunc(p.record.Related(c.ID), func(c traffic.Call) bool { return !r.Who.MayLookAt(c.Principal) })
	api.Reply(w, http.StatusOK, entryBody{shownCall{Call: c, Said: p.said(&c)}, p.shown(related)})
}

// entry returns the entry that the request names. It answers 404 itself, also
// for an entry that the principal may not see.
func (p *trafficPages) entry(w http.ResponseWriter, r *api.Request) (traffic.Call, bool) {
	id, _ := strconv.ParseUint(r.Param("id"), 10, 64)
	c, ok := p.record.Get(id)
	if !ok || !r.Who.MayLookAt(c.Principal) {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this entry is no longer in the record", "这条记录已不再保留"))
		return traffic.Call{}, false
	}
	return c, true
}

func (p *trafficPages) getBody(w http.ResponseWriter, r *api.Request) {
	c, ok := p.entry(w, r)
	if !ok {
		return
	}
	side := traffic.Request
	if r.URL.Query().Get("side") == "res" {
		side = traffic.Response
	}
	body, whole := p.record.Body(c.ID, side)
	if body == nil {
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("this body is no longer kept", "这个消息体已不再保留"))
		return
	}
	if r.URL.Query().Has("path") {
		part(w, r, body, whole)
		return
	}
	slice(w, r, body, whole)
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

// slice answers with a part of a body. It never splits a UTF-8 character.
func slice(w http.ResponseWriter, r *api.Request, body []byte, whole bool) {
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
	api.Reply(w, http.StatusOK, out)
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

func (p *trafficPages) getLogs(w http.ResponseWriter, r *api.Request) {
	server := r.Param("server")
	if server == "*" {
		server = ""
	}
	lines := p.record.Lines(server, uint64(r.Number("after", 0, 1<<62)), int(r.Number("limit", 500, 5000)))
	lines = slices.DeleteFunc(lines, func(l traffic.Line) bool { return !p.sight.mayReadLog(r.Who, l.Server) })
	if lines == nil {
		lines = []traffic.Line{}
	}
	api.Reply(w, http.StatusOK, lines)
}
