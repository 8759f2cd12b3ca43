package jsonrpc

import (
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/corpus"
)

func TestScanCorpus(t *testing.T) {
	for _, row := range corpus.Load(t, "../..") {
		if row.Flight != nil {
			continue
		}
		t.Run(row.Name(), func(t *testing.T) {
			data := row.In.Bytes(t)
			// Enough for a busy machine, too little for quadratic time.
			start := time.Now()
			msg, err := Scan(data, nil)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%d bytes took %v", len(data), took)
			}
			var code int64
			if err != nil {
				code = err.Code
				if len(err.Message) > 256 {
					t.Errorf("message of %d bytes", len(err.Message))
				}
			}
			if code != row.Want.Code {
				t.Errorf("code is %d, want %d (%v)", code, row.Want.Code, err)
			}
			if kind := kinds[msg.Kind]; kind != row.Want.Kind {
				t.Errorf("kind is %s, want %s", kind, row.Want.Kind)
			}
			if string(msg.ID) != row.Want.IDEcho {
				t.Errorf("id is %.80q, want %.80q", msg.ID, row.Want.IDEcho)
			}
		})
	}
}

// kinds are the names of kinds in the corpus.
var kinds = [...]string{KindInvalid: "invalid", KindRequest: "request", KindNotification: "notification", KindResult: "result", KindError: "error"}
