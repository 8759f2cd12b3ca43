package usage

import (
	"fmt"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/traffic"
)

// A file is text: one line per row with tab-separated fields, and a last line
// with the number of rows. encoding/json took 24 µs per row, which is too slow
// for a month of rows; this format takes few µs.
const (
	head = "# usage 1: principal client door schema server kind name calls errors toolErrors sent got first took"
	last = "# rows"
)

var errTorn = i18n.Errorf("the file is not whole", "文件不完整")

func format(rows []line) []byte {
	text := append(make([]byte, 0, 128*(len(rows)+1)), head...)
	for i := range rows {
		k, s := &rows[i].Key, &rows[i].Sum
		text = append(text, '\n')
		for _, field := range []string{k.Principal, k.Client, string(k.Door), k.Schema, k.Server, k.Kind, k.Name} {
			text = append(append(text, field...), '\t')
		}
		for _, n := range []int64{s.Calls, s.Errors, s.ToolErrors, s.Sent, s.Got, int64(s.First)} {
			text = append(strconv.AppendInt(text, n, 10), '\t')
		}
		for j, n := range s.Took {
			if j > 0 {
				text = append(text, ' ')
			}
			text = strconv.AppendUint(text, uint64(n), 10)
		}
	}
	return fmt.Appendf(text, "\n%s %d\n", last, len(rows))
}

func parse(text string) ([]line, error) {
	text, ok := strings.CutPrefix(text, head)
	at := strings.LastIndex(text, "\n"+last+" ")
	if !ok || at < 0 {
		return nil, errTorn
	}
	text, end := strings.TrimPrefix(text[:at], "\n"), text[at+len(last)+2:]
	rows := make([]line, 0, strings.Count(text, "\n")+1)
	for one := range strings.Lines(text) {
		row, err := parseLine(strings.TrimSuffix(one, "\n"))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if end != strconv.Itoa(len(rows))+"\n" {
		return nil, errTorn
	}
	return rows, nil
}

func parseLine(text string) (row line, err error) {
	var fields [14]string
	for i := range fields[:13] {
		var ok bool
		if fields[i], text, ok = strings.Cut(text, "\t"); !ok {
			return row, errTorn
		}
	}
	row.Key = Key{fields[0], fields[1], traffic.Door(fields[2]), fields[3], fields[4], fields[5], fields[6]}
	var figures [6]int64
	for i := range figures {
		if figures[i], err = strconv.ParseInt(fields[7+i], 10, 64); err != nil {
			return row, err
		}
	}
	row.Sum = Sum{Calls: figures[0], Errors: figures[1], ToolErrors: figures[2], Sent: figures[3], Got: figures[4], First: int(figures[5])}
	if text == "" {
		return row, nil
	}
	row.Took = make([]uint32, 0, strings.Count(text, " ")+1)
	for n := range strings.SplitSeq(text, " ") {
		calls, err := strconv.ParseUint(n, 10, 32)
		if err != nil {
			return row, err
		}
		row.Took = append(row.Took, uint32(calls))
	}
	return row, nil
}
