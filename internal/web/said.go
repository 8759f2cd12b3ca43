package web

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/traffic"
)

// saidLength is the maximum length of an answer's text in a row, in
// characters.
const saidLength = 200

// A shownCall is a call with the text that lists show for it.
type shownCall struct {
	traffic.Call
	// Said is the text of the answer: the message of an error, or the first
	// text of a result. It is truncated, and on one line.
	Said string `json:"said,omitempty"`
	// Replica is the replica that recorded the call, in a cluster.
	Replica string `json:"replica,omitempty"`
}

func (p *trafficPages) shown(calls []traffic.Call) []shownCall {
	list := make([]shownCall, len(calls))
	for i := range calls {
		list[i] = shownCall{Call: calls[i], Said: p.said(&calls[i])}
	}
	return list
}

// said returns the text of an answer. If only the beginning of a body was kept,
// said reads that part.
func (p *trafficPages) said(c *traffic.Call) string {
	key := "text"
	switch {
	case c.ResSize == 0 || c.Kind != traffic.KindCall:
		return ""
	case c.Status == traffic.StatusError:
		key = "message"
	case c.Status != traffic.StatusToolError && c.ResSize > traffic.HeadSize:
		return "" // its size is more useful
	}
	body, _ := p.record.Body(c.ID, traffic.Response)
	return oneLine(firstString(body[:min(len(body), traffic.HeadSize)], key))
}

// The positions of the decoder: in an array, in an object before a key, in an
// object before the value of a key.
const (
	inArray = iota
	beforeKey
	beforeValue
)

// firstString returns the first string value of a key, at any depth; empty if
// there is none.
func firstString(body []byte, key string) string {
	d := json.NewDecoder(bytes.NewReader(body))
	open := []int{inArray}
	wanted := false
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		top := &open[len(open)-1]
		if text, ok := token.(string); ok && *top == beforeKey {
			wanted, *top = text == key, beforeValue
			continue
		} else if ok && wanted {
			return text
		}
		wanted = false
		if *top == beforeValue {
			*top = beforeKey
		}
		switch token {
		case json.Delim('{'):
			open = append(open, beforeKey)
		case json.Delim('['):
			open = append(open, inArray)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}

// oneLine returns the text on one line, truncated to saidLength.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s[:min(len(s), 4*saidLength)]), " ")
	s = strings.ToValidUTF8(s, "")
	if utf8.RuneCountInString(s) <= saidLength {
		return s
	}
	return string([]rune(s)[:saidLength]) + "…"
}
