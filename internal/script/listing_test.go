package script

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

// A lister answers each call with a list of 10 MB, as a value or as the text of
// a member.
type lister struct {
	nobody
	row    string // for an index
	asText bool
}

func (l lister) Handle(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
	var b strings.Builder
	for i := 0; b.Len() < 10_000_000; i++ {
		fmt.Fprintf(&b, ","+l.row, i)
	}
	value := "[" + b.String()[1:] + "]"
	if l.asText {
		value = fmt.Sprintf(`{"content":%s}`, jsonrpc.Quote(value))
	}
	return &jsonrpc.Response{Result: []byte(`{"value":` + value + `}`)}, nil
}

// TestListing checks that the default limits are enough to parse and filter a
// list of 10 MB.
func TestListing(t *testing.T) {
	r := newRunner(t)
	for _, tt := range []struct {
		name string
		lister
		code string
	}{
		{"of values", lister{row: `{"id":%d,"name":"report.txt","state":"open","body":"the quick brown fox jumps over the lazy dog"}`},
			`return (await tools.a.b()).filter(x => x.id >= 0 && x.name === 'report.txt').length > 9e4`},
		{"with Chinese names", lister{row: `{"id":%d,"name":"报告.txt","state":"open","body":"the quick brown fox jumps over the lazy dog"}`},
			`return (await tools.a.b()).filter(x => x.id >= 0 && x.name === '报告.txt').length > 9e4`},
		{"in Chinese", lister{row: `{"id":%d,"name":"二〇二六年度报告","state":"已打开","body":"敏捷的棕色狐狸跳过了那只懒惰的狗，然后沿着河边的小路一直跑到了村庄的尽头"}`},
			`return (await tools.a.b()).filter(x => x.id >= 0 && x.name === '二〇二六年度报告').length > 4e4`},
		{"as text", lister{asText: true, row: "\n      {\n        \"name\": \"document-%06d-report.txt\",\n        \"type\": \"file\"\n      }"},
			`return JSON.parse((await tools.a.b()).content).filter(x => x.name.endsWith('report.txt')).length > 1e5`},
	} {
		t.Run("code/listing "+tt.name, func(t *testing.T) {
			o, err := r.Run(t.Context(), &Job{Code: tt.code}, tt.lister)
			if err != nil {
				t.Fatal(err)
			}
			if o.Fault != nil || string(o.Value) != "true" {
				t.Errorf("it is %s, %+v; the process took %d MB", o.Value, o.Fault, o.Peak>>20)
			}
			if most := Defaults.Memory + maxBeside; o.Peak > most {
				t.Errorf("the process took %d MB, want at most %d", o.Peak>>20, most>>20)
			}
			t.Logf("%d MB, %v", o.Peak>>20, o.CPU)
		})
	}
}
