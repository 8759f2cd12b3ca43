// Package http1 speaks HTTP/1.1 for the common case: a small POST on a
// connection that is kept, on either side. Whatever else comes is net/http's.
//
// It has the interfaces of the standard library: a Server serves an
// http.Handler, a Transport is an http.RoundTripper.
//
// It takes a strict part of HTTP and refuses to understand the rest: on the
// side of the server a connection that says anything unusual is handed over,
// with every byte of that request, before anything of it was answered. So
// nothing is ever read in two ways.
package http1
