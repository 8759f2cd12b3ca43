//go:build !race

// The race detector makes sync.Pool drop items at random, so allocations cannot
// be counted under it.

package jsonrpc

import "testing"

func TestAllocs(t *testing.T) {
	small := []byte(request100)
	request, answer := requestOf(10_000), answerOf(10_000)
	msg, err := Scan(request, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		max  float64
		run  func()
	}{
		{"Scan 100 B", 0, func() { Scan(small, nil) }},
		{"Scan 10 KB", 0, func() { Scan(request, nil) }},
		{"PeekAnswer", 0, func() { PeekAnswer(answer) }},
		{"ScanAnswer", 0, func() { ScanAnswer(answer, nil) }},
		{"Get", 0, func() { Get(msg.Params, "arguments", "rows") }},
		{"Set", 1, func() { Set(msg.Params, []byte(`"b"`), "name") }},
		{"Set new", 1, func() { Set(msg.Params, []byte(`7`), "_meta", "progressToken") }},
		{"Set nil", 1, func() { Set(msg.Params, nil, "name") }},
	} {
		c.run()
		if got := testing.AllocsPerRun(100, c.run); got > c.max {
			t.Errorf("%s: %v allocations, at most %v allowed", c.name, got, c.max)
		}
	}
}
