package mcp

import "mcp-all-in-one/internal/jsonrpc"

// A Reason says why the gateway itself, not a server, failed a request. The
// set is closed: clients and tests may switch on it.
type Reason string

// The reasons.
const (
	UpstreamUnavailable Reason = "upstream_unavailable"
	UpstreamClosed      Reason = "upstream_closed"
	UpstreamTimeout     Reason = "upstream_timeout"
	UpstreamProtocol    Reason = "upstream_protocol_error"
	ResponseTooLarge    Reason = "response_too_large"
	Overloaded          Reason = "overloaded"
	Draining            Reason = "draining"
	Cancelled           Reason = "cancelled"
	PolicyDenied        Reason = "policy_denied"
	RateLimited         Reason = "rate_limited"  // more calls than a minute may have
	RepeatedCall        Reason = "repeated_call" // the same call with the same answer, again
	ValueMissing        Reason = "value_missing" // the user has to bring a value along first
	OwnerLost           Reason = "owner_lost"    // the replica where it ran died: it may have run
)

// retryable tells whether sending the same request again is safe: it is where
// the request provably did not run.
func (r Reason) retryable() bool {
	switch r {
	case UpstreamUnavailable, Overloaded, Draining, RateLimited:
		return true
	}
	return false
}

// Failure is the error for a request that the gateway could not complete.
// service may be empty.
func Failure(r Reason, service, message string) *jsonrpc.Error {
	data := struct {
		Reason    Reason `json:"reason"`
		Retryable bool   `json:"retryable"`
		Service   string `json:"service,omitempty"`
	}{r, r.retryable(), service}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", message).WithData(data)
}

// IsDraining says that a request was not begun, because the gateway ends.
func IsDraining(resp *jsonrpc.Response) bool {
	return resp != nil && resp.Err != nil && ReasonOf(resp.Err) == Draining
}

// ReasonOf is the reason that an error of a gateway gives; empty for none.
func ReasonOf(e *jsonrpc.Error) Reason {
	reason, _ := jsonrpc.GetString(e.Data, "reason")
	return Reason(reason)
}
