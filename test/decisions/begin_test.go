package decisions

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// look is a tool without any decision: its outcome shows the state of the
// gateway.
var look = target{arguments: map[string]any{"text": "hi"}}

// drain stops both gateways while a call runs in each, so that they wait for
// it.
func (w *world) drain() {
	ctx, cancel := context.WithCancel(w.t.Context())
	held := make(chan struct{})
	go func() {
		defer close(held)
		h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {mcp.V2026_07_28}, "Mcp-Method": {mcp.MethodToolsCall}, "Mcp-Name": {"other__hold"}}
		body := request(1, mcp.MethodToolsCall, map[string]any{"name": "other__hold", "arguments": look.arguments}, modern)
		if resp, err := w.send(ctx, http.MethodPost, "/mcp", keyAdmin, h, body); err == nil {
			resp.Body.Close()
		}
	}()
	w.release = func() { cancel(); <-held }
	w.t.Cleanup(w.release)
	w.lines++
	w.onStdio.Send(string(request(w.lines, mcp.MethodToolsCall, map[string]any{"name": "other__hold", "arguments": look.arguments}, legacy)))
	w.until("both calls run", func() bool { return w.holding() == 2 })
	asked, piped := callTool(w.streamable("/mcp", keyAdmin, legacy), "other__look"), callTool(&piped{w, legacy, &w.lines}, "other__look")
	w.http.Signal(syscall.SIGTERM)
	w.onStdio.Signal(syscall.SIGTERM)
	w.until("the gateway drains", func() bool { return asked(look).reason != let })
	w.until("the gateway on stdio drains", func() bool { return piped(look).reason != let })
}

// holding counts the calls that do not end.
func (w *world) holding() (n int) {
	list, err := readJournal(w.journal())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range list {
		if h.Method == mcp.MethodToolsCall && h.Server == "other" {
			n++
		}
	}
	return n
}

// press sets the memory limit of the gateways below their use.
func (w *world) press() {
	w.settings["limits"] = map[string]any{"memory": "1MiB"}
	asked, piped := callTool(w.streamable("/mcp", keyAdmin, legacy), "other__look"), callTool(&piped{w, legacy, &w.lines}, "other__look")
	w.reload()
	w.reloadStdio()
	w.until("the gateway is short of memory", func() bool { return asked(look).reason != let })
	w.until("the gateway on stdio is short of memory", func() bool { return piped(look).reason != let })
}

// addPending has a client add the server, at both gateways.
func (w *world) addPending() {
	arguments := w.entry(server, nil)
	arguments["name"] = server
	params := map[string]any{"name": "mcp-all-in-one-add-mcp-server", "arguments": arguments}
	local := w.piped(legacy)
	for _, s := range []session{w.streamable("/mcp", keyAdmin, legacy), local} {
		if a := s.ask(mcp.MethodToolsCall, params, nil); a.reason != let {
			w.t.Fatalf("adding a server: %v", a)
		}
	}
}

// again matches the time after which a refusal ends, in the text for the
// client.
var again = regexp.MustCompile(`again in (\d+) s`)

// useUp makes calls as the principal of a door until its limit is used up for
// longer than an attempt takes.
func (w *world) useUp(id doorID, t target) {
	w.t.Helper()
	var try attempt
	switch {
	case id == doorStdio:
		try = callTool(w.piped(legacy), server+"__"+tool)
	case doors[id].who == "local":
		try = w.command(".", server+"__"+tool)
	default: // in every mode of a key, the endpoint of a server lists its tools
		try = callTool(w.streamable("/s/"+server+"/mcp", doors[id].who, modern), tool)
	}
	w.until("the calls are used up", func() bool {
		said := again.FindStringSubmatch(try(t).raw)
		if said == nil {
			return false
		}
		seconds, err := strconv.Atoi(said[1])
		return err == nil && seconds > int(patience/time.Second)/2
	})
}
