package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// TestDownlevelPairs connects every legacy client version to every server
// version. The servers answer with all kinds of content, whatever version they
// agreed to.
func TestDownlevelPairs(t *testing.T) {
	const (
		audio = `{"type":"audio","data":"AAA=","mimeType":"audio/wav"}`
		blob  = `{"type":"resource","resource":{"uri":"audio:1","mimeType":"audio/wav","blob":"AAA="}}`
		link  = `{"type":"resource_link","uri":"a:b","name":"n"}`
		text  = `{"type":"text","text":"a:b"}`
	)
	for _, server := range mcp.AllVersions() {
		for _, client := range mcp.Versions(mcp.Legacy) {
			t.Run(fmt.Sprintf("bridge/D1 bridge/D2 client %s server %s", client, server), func(t *testing.T) {
				r := newRaw(t, `{"tools":{},"prompts":{}}`, map[string]string{
					mcp.MethodToolsList:   `{"tools":[{"name":"play","inputSchema":{"type":"object"}},{"name":"data","inputSchema":{"type":"object"}}]}`,
					mcp.MethodPromptsList: `{"prompts":[{"name":"listen"}]}`,
					mcp.MethodToolsCall:   `{"content":[` + audio + `,` + link + `]}`,
					mcp.MethodPromptsGet:  `{"messages":[{"role":"user","content":` + audio + `}]}`,
				})
				r.speak(server)
				g := newGateway(t, map[string]string{"a": r.URL}, nil)
				s := open(t, g, "a", client, `{}`)
				rules := mcp.Rules(client)
				want := [2]string{audio, link}
				if !rules.Audio {
					want[0] = blob
				}
				if !rules.Links {
					want[1] = text
				}
				if got := ask(t, s, mcp.MethodToolsCall, `{"name":"play","arguments":{}}`); got != `{"content":[`+want[0]+`,`+want[1]+`]}` {
					t.Errorf("tools/call answered %s", got)
				}
				if got := ask(t, s, mcp.MethodPromptsGet, `{"name":"listen"}`); !strings.Contains(got, want[0]) {
					t.Errorf("prompts/get answered %s", got)
				}
			})
		}
	}
}

// TestLevelWhileCalling checks that a client may change its log level while its
// calls run; the race detector finds out.
func TestLevelWhileCalling(t *testing.T) {
	r := newRaw(t, `{"tools":{},"logging":{}}`, map[string]string{
		mcp.MethodToolsList: `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
		mcp.MethodToolsCall: `{"content":[]}`, mcp.MethodSetLevel: `{}`,
	})
	s := open(t, newGateway(t, map[string]string{"raw": r.URL}, nil), "", mcp.LatestLegacy, `{}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { ask(t, s, mcp.MethodToolsCall, `{"name":"raw__t"}`) })
		all.Go(func() { ask(t, s, mcp.MethodSetLevel, `{"level":"debug"}`) })
	}
	all.Wait()
}
