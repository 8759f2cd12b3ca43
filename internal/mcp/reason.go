package mcp

import (
	"errors"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Reason is why the gateway itself, not a server, failed a request. The set
// is closed: clients and tests may switch on it.
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
	RateLimited         Reason = "rate_limited"  // over the limit of calls per minute
	RepeatedCall        Reason = "repeated_call" // the same call with the same answer, repeated
	ValueMissing        Reason = "value_missing" // the user has to provide a value first
	OwnerLost           Reason = "owner_lost"    // the replica that ran it died; the request may have run
)

// retryable reports whether the same request can safely be repeated, because it
// provably did not run.
func (r Reason) retryable() bool {
	switch r {
	case UpstreamUnavailable, Overloaded, Draining, RateLimited:
		return true
	}
	return false
}

// Failure returns the error for a request that the gateway could not complete.
// service may be empty.
func Failure(r Reason, service, message string) *jsonrpc.Error {
	data := struct {
		Reason    Reason `json:"reason"`
		Retryable bool   `json:"retryable"`
		Service   string `json:"service,omitempty"`
	}{r, r.retryable(), service}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", message).WithData(data)
}

// CutShort is the cause of a request's context that ends because the gateway
// shuts down. It is also the error of the request, unless NotSent changes it.
var CutShort = Failure(Cancelled, "", "the gateway shut down before the answer came; whether the call ran is unknown")

// NotSent returns the error of a request that no server was sent, given how it
// ended.
func NotSent(err error) error {
	if errors.Is(err, CutShort) {
		return ShutsDown()
	}
	return err
}

// ShutsDown returns the error of a request that did not run because the gateway
// shuts down.
func ShutsDown() *jsonrpc.Error {
	return Failure(Draining, "", "the gateway is shutting down")
}

// IsDraining reports that a request was not started because the gateway is
// stopping.
func IsDraining(resp *jsonrpc.Response) bool {
	return resp != nil && resp.Err != nil && ReasonOf(resp.Err) == Draining
}

// ReasonOf returns the reason in an error of a gateway; empty for none.
func ReasonOf(e *jsonrpc.Error) Reason {
	reason, _ := jsonrpc.GetString(e.Data, "reason")
	return Reason(reason)
}
