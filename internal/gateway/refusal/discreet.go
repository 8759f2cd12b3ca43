package refusal

import (
	"errors"
	"fmt"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Discreet removes the reason from an error about an unreachable server, if the
// principal may not see the server's command, environment and standard error.
func Discreet(err error, who *access.Principal) error {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || who.MayInspect() {
		return err
	}
	reason, _ := jsonrpc.GetString(wire.Data, "reason")
	service, _ := jsonrpc.GetString(wire.Data, "service")
	switch mcp.Reason(reason) {
	case mcp.UpstreamUnavailable:
		return mcp.Failure(mcp.UpstreamUnavailable, service, fmt.Sprintf("server %q is not available", service))
	case mcp.UpstreamClosed:
		return mcp.Failure(mcp.UpstreamClosed, service, fmt.Sprintf("server %q ended before it answered; whether the call ran is unknown", service))
	}
	return err
}
