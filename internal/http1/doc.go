// Package http1 speaks HTTP/1.1, as client and server, for the common case: a small
// POST on a keep-alive connection. net/http handles all other requests.
//
// It has the interfaces of the standard library: a Server serves an http.Handler, a
// Transport is an http.RoundTripper.
//
// It accepts a strict subset of HTTP. If a request on a server connection is
// unusual, the connection passes to net/http with every byte of that request,
// before any part of the response is written. So no message is ever read in two
// ways.
package http1
