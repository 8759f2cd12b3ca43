package jsonrpc

import (
	"strings"
	"testing"
)

// brokenResults are results of real servers that are not JSON.
var brokenResults = []string{
	`{"content":[],}`, `{"content":[1,]}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `{"a":[1 2]}`, `{"a":tru}`, `{"a":NaN}`, `{"a":01}`,
	`{"a":1.}`, `{"a":1e}`, `{"a":-}`, `{a:1}`, `{'a':1}`, `{"a":["b":1]}`, `{"a":1]`, `{"a":undefined}`, `{"a":+1}`, `{"a":.5}`, `{1:2}`, `{"a"::1}`, `{"a":1,,"b":2}`,
}

// TestBrokenResults checks that an answer of up to peekUnread bytes is refused
// if its result is not JSON, in any order of its members.
func TestBrokenResults(t *testing.T) {
	for _, result := range brokenResults {
		t.Run("true/15 "+result, func(t *testing.T) {
			for _, answer := range []string{
				`{"jsonrpc":"2.0","id":7,"result":` + result + `}`, `{"jsonrpc":"2.0","result":` + result + `,"id":7}`,
				`{"result":` + result + `,"jsonrpc":"2.0","id":7}`, `{"id":7, "jsonrpc":"2.0", "result":` + result + `}`,
			} {
				if _, _, ok := PeekAnswer([]byte(answer)); ok {
					t.Errorf("PeekAnswer took %s", answer)
				}
				if m, err := ScanAnswer([]byte(answer), nil); err == nil {
					t.Errorf("ScanAnswer took %s as %s", answer, m.Result)
				}
			}
		})
	}
}

// TestOddResults checks that unusual but valid JSON results are accepted.
func TestOddResults(t *testing.T) {
	for _, result := range []string{"{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":1,"a":2}`, `{"a":` + strings.Repeat("1", 2000) + `}`, `{ }`} {
		if _, got, ok := PeekAnswer([]byte(`{"jsonrpc":"2.0","id":7,"result":` + result + `}`)); !ok || string(got) != result {
			t.Errorf("%.40q was not taken", result)
		}
	}
}
