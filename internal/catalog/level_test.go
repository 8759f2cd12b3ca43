package catalog

import (
	"strings"
	"testing"
)

func TestDownlevelResult(t *testing.T) {
	const audio = `{"type":"audio","data":"AAA=","mimeType":"audio/wav","x":1}`
	const link = `{"type":"resource_link","uri":"a:b\u0041","name":"n"}`
	for _, tt := range []struct{ id, version, in, out string }{
		{"bridge/D1", "2024-11-05", `{"content":[` + audio + `]}`, `{"content":[{"type":"resource","resource":{"uri":"audio:1","mimeType":"audio/wav","blob":"AAA="}}]}`},
		{"bridge/D1/prompt", "2024-11-05", `{"messages":[{"role":"user","content":` + audio + `}]}`, `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"audio:1","mimeType":"audio/wav","blob":"AAA="}}}]}`},
		{"bridge/D1/known", "2025-03-26", `{"content":[` + audio + `]}`, `{"content":[` + audio + `]}`},
		{"bridge/D2", "2025-03-26", `{"content":[` + link + `,{"type":"text","text":"t"}],"n":1.0}`, `{"content":[{"type":"text","text":"a:bA"},{"type":"text","text":"t"}],"n":1.0}`},
		{"bridge/D2/known", "2025-06-18", `{"content":[` + link + `]}`, `{"content":[` + link + `]}`},
		{"bridge/D2/empty", "2025-03-26", `{"content":[],"structuredContent":{"a":"\""}}`, `{"content":[{"type":"text","text":"{\"a\":\"\\\"\"}"}],"structuredContent":{"a":"\""}}`},
		{"bridge/D2/absent", "2024-11-05", `{"structuredContent":{"a":1}}`, `{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\"a\":1}"}]}`},
		{"bridge/D3", "2025-11-25", `{"resultType":"complete","content":[],"ttlMs":0,"cacheScope":"private"}`, `{"content":[]}`},
		{"bridge/D3/identity", "2025-11-25", `{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"}}}`, `{"content":[]}`},
		{"bridge/D3/identity-beside", "2025-11-25", `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"},"a":1}}`, `{"_meta":{"a":1}}`},
		{"bridge/D3/identity-of-old", "2025-11-25", `{"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, `{"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`},
		{"bridge/D3/escaped", "2025-11-25", `{"result\u0054ype":"complete","content":[]}`, `{"content":[]}`},
		{"bridge/D3/array", "2025-11-25", `{"content":[],"structuredContent":[1,2]}`, `{"content":[{"type":"text","text":"[1,2]"}]}`},
		{"bridge/D3/array-with-text", "2025-11-25", `{"content":[{"type":"text","text":"t"}],"structuredContent":"s"}`, `{"content":[{"type":"text","text":"t"}]}`},
		{"bridge/D3/nested-names-stay", "2025-11-25", `{"content":[{"type":"text","text":"t","ttlMs":1}],"_meta":{"resultType":1}}`, `{"content":[{"type":"text","text":"t","ttlMs":1}],"_meta":{"resultType":1}}`},
		{"corpus/U16", "2025-11-25", `{"content":[],"structuredContent":{"not":"as its schema says"}}`, `{"content":[],"structuredContent":{"not":"as its schema says"}}`},
		{"corpus/U17", "2025-11-25", `{"content":[{"type":"video"},{"type":"text"},{"type":"image","data":"?"}]}`, `{"content":[{"type":"video"},{"type":"text"},{"type":"image","data":"?"}]}`},
		{"bridge/modern", "2026-07-28", `{"resultType":"complete","structuredContent":[1]}`, `{"resultType":"complete","structuredContent":[1]}`},
	} {
		t.Run(tt.id, func(t *testing.T) {
			in := []byte(tt.in)
			out := DownlevelResult(tt.version, in, false)
			equalTo(t, tt.out, string(out))
			equalTo(t, tt.in, string(in))
			if tt.in == tt.out && !same(in, out) {
				t.Error("an unchanged result was copied")
			}
			equalTo(t, tt.out, string(DownlevelResult(tt.version, in, true)))
		})
	}
}

func TestUplevelResult(t *testing.T) {
	for _, tt := range []struct{ version, in, out string }{
		{"2026-07-28", `{"content":[]}`, `{"content":[],"resultType":"complete"}`},
		{"2026-07-28", `{}`, `{"resultType":"complete"}`},
		{"2026-07-28", `{"resultType":"input_required"}`, `{"resultType":"input_required"}`},
		{"2025-11-25", `{"content":[]}`, `{"content":[]}`},
	} {
		t.Run("bridge/U/"+tt.in, func(t *testing.T) {
			equalTo(t, tt.out, string(UplevelResult(tt.version, []byte(tt.in), false)))
			equalTo(t, tt.out, string(UplevelResult(tt.version, append(make([]byte, 0, 256), tt.in...), true)))
		})
	}
	equalTo(t, `{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`, string(UplevelCacheable("2026-07-28", []byte(`{"contents":[]}`), false)))
	equalTo(t, `{"ttlMs":9,"resultType":"complete","cacheScope":"private"}`, string(UplevelCacheable("2026-07-28", []byte(`{"ttlMs":9}`), false)))
}

// TestLevelsInPlace checks that editing an owned result of a megabyte does not
// copy it.
func TestLevelsInPlace(t *testing.T) {
	large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}`
	buf := make([]byte, 0, len(large)+64)
	if n := testing.AllocsPerRun(5, func() { UplevelResult("2026-07-28", append(buf, large...), true) }); n > 0 {
		t.Errorf("adding a member makes %v allocations", n)
	}
	if n := testing.AllocsPerRun(5, func() { UplevelCacheable("2026-07-28", append(buf, large...), true) }); n > 0 {
		t.Errorf("adding three members makes %v allocations", n)
	}
	modern := `{"resultType":"complete",` + large[1:]
	if n := testing.AllocsPerRun(5, func() { DownlevelResult("2025-11-25", append(buf, modern...), true) }); n > 2 {
		t.Errorf("removing a member makes %v allocations", n)
	}
}

func BenchmarkDownlevelUnchanged(b *testing.B) {
	result := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("words and \\\"quotes\\\" ", 500) + `"}],"isError":false}`)
	b.SetBytes(int64(len(result)))
	b.ReportAllocs()
	for b.Loop() {
		DownlevelResult("2025-06-18", result, false)
	}
}
