package web

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/traffic"
)

// saidLength is how much of an answer stands in a row, in characters.
const saidLength = 200

// A shownCall is a call as lists show it.
type shownCall struct {
	traffic.Call
	// Said is what the answer says in words: the message of an error, the
	// first text of a result. It is cut, and on one line.
	Said string `json:"said,omitempty"`
	// Replica is who recorded it, where there are several.
	Replica string `json:"replica,omitempty"`
}

func (p *trafficPages) shown(calls []traffic.Call) []shownCall {
	list := make([]shownCall, len(calls))
	for i := range calls {
		list[i] = shownCall{Call: calls[i], Said: p.said(&calls[i])}
	}
	return list
}

// said finds the words of an answer. A body of which only the beginning is kept
// is read as far as it goes.
func (p *trafficPages) said(c *traffic.Call) string {
	key := "text"
	switch {
	case c.ResSize == 0 || c.Kind != traffic.KindCall:
		return ""
	case c.Status == traffic.StatusError:
		key = "message"
	case c.Status != traffic.StatusToolError && c.ResSize > traffic.HeadSize:
		return "" // its size says more
	}
	body, _ := p.record.Body(c.ID, traffic.Response)
	return oneLine(firstString(body[:min(len(body), traffic.HeadSize)], key))
}

// What the decoder stands in: an array, an object before a key, an object before
// the value of a key.
const (
	inArray = iota
	beforeKey
	beforeValue
)

// firstString is the first string under a key, at any depth; empty when there
// is none.
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

// oneLine is text on one line, cut at a length.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s[:min(len(s), 4*saidLength)]), " ")
	s = strings.ToValidUTF8(s, "")
	if utf8.RuneCountInString(s) <= saidLength {
		return s
	}
	return string([]rune(s)[:saidLength]) + "…"
}
