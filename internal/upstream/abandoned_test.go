package upstream_test

import (
	"context"
	"errors"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// stubborn is a server on stdio that goes on with its first call after it was
// cancelled. When it gets the second call, it asks because of the first one, and
// answers the second one. The third call is answered after a question of its own.
const stubborn = `calls=0
while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
	answer() { say "$1" '"result":{"content":[{"type":"text","text":"'"$2"'"}]}'; }
	ask() { say '"q"' '"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}'; }
	case $line in
	*'"server/discover"'*) say "$id" '"error":{"code":-32601,"message":"method not found"}' ;;
	*'"initialize"'*) say "$id" '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"stubborn","version":"1"}}' ;;
	*'"tools/list"'*) say "$id" '"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}' ;;
	*'"tools/call"'*)
		calls=$((calls+1))
		case $calls in
		1) first=$id; echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}' ;;
		2) second=$id; ask ;;
		3) third=$id; ask ;;
		esac ;;
	*'"q"'*)
		case $line in *accept*) got=accepted ;; *) got=refused ;; esac
		if [ $calls = 2 ]; then answer "$first" "$got"; answer "$second" "$got"; else answer "$third" "$got"; fi ;;
	esac
done`

// TestAbandonedCall lets a server ask because of a call whose client has given up,
// while the call of another client is in flight.
func TestAbandonedCall(t *testing.T) {
	entry := fake(t, "a", "-c", stubborn)
	entry.Command = "sh"
	w := newWorld(t, worldOptions{}, entry)
	w.state("a", upstream.Ready)
	gone, h := session("gone", mcp.Offer{Elicit: true}), &holder{told: make(chan struct{})}
	stays, r := session("stays", mcp.Offer{Elicit: true}), newReplier()
	t.Cleanup(gone.Close)
	t.Cleanup(stays.Close)
	ctx, leave := context.WithTimeout(t.Context(), w.wait)
	defer leave()
	go func() {
		<-h.told
		leave()
	}()
	if _, err := w.up("a").Call(ctx, gone, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"ask"}`), Back: h}); !errors.Is(context.Cause(ctx), context.Canceled) {
		t.Fatalf("the call that is cancelled: %v", err)
	}
	if text, err := w.ask(stays, r, "a", "ask", `{}`); text != "refused" || len(r.asked) > 0 {
		t.Errorf("true/3: a question of another client's call: %q, %v, asked %d times", text, err, len(r.asked))
	}
	if text, err := w.ask(stays, r, "a", "ask", `{}`); text != "accepted" || len(r.asked) != 1 {
		t.Errorf("true/3: a question after the other call was answered: %q, %v, asked %d times", text, err, len(r.asked))
	}
}
