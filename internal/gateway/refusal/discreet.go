package refusal

import (
	"errors"
	"fmt"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Discreet leaves out of an error why a server cannot be reached, for
// principals who may not look into servers: its command, its environment and
// its standard error are not theirs.
func Discreet(err error, who *access.Principal) error {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || who.MayInspect() {
		return err
	}
	reason, _ := jsonrpc.GetString(wire.Data, "reason")
	service, _ := jsonrpc.GetString(wire.Data, "service")
	switch mcp.Reason(reason) {
	case mcp.UpstreamUnavailable, mcp.UpstreamClosed:
		return mcp.Failure(mcp.Reason(reason), service, fmt.Sprintf("server %q is not available", service))
	}
	return err
}
