// Package quota gives each principal a share of the memory for its requests, for what
// its sessions keep, and for the answers that it has not read.
package quota

import (
	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/weight"
)

// A Quota refuses what is beyond the share of a principal.
type Quota struct {
	Book  *weight.Book
	Share func() int64 // bytes of one principal
	Hits  *config.Hits
}

// Weigh counts n bytes that stay in memory for a principal until release is called.
// It returns an error if the principal has its share of the memory.
func (q *Quota) Weigh(principal string, n int) (release func(), err error) {
	if n < weight.Large {
		return func() {}, nil
	}
	return q.Hold(principal, n)
}

// Hold is Weigh for what may stay for long, even if it is small.
func (q *Quota) Hold(principal string, n int) (release func(), err error) {
	if !access.Shares(principal) {
		return func() {}, nil
	}
	if err := q.Take(principal, n); err != nil {
		return nil, err
	}
	return func() { q.Book.Give(principal, int64(n)) }, nil
}

// Take counts n more bytes for a principal; n may be negative.
func (q *Quota) Take(principal string, n int) error {
	if !q.Book.Take(principal, int64(n), q.room()) {
		return q.full()
	}
	return nil
}

// Reads returns an error if the principal is over its share because it does not read
// its answers: it must not get more of them.
func (q *Quota) Reads(principal string) error {
	if q.Book.Over(principal, q.room()) {
		return q.full()
	}
	return nil
}

// room returns the part of a share that is not for bodies. The last quarter is: with
// a body a client answers a call.
func (q *Quota) room() int64 {
	most := q.Share()
	return most - most/4
}

func (q *Quota) full() error {
	q.Hits.Add("unfinishedPerKey")
	return mcp.Failure(mcp.Overloaded, "", weight.Full(q.Share()))
}
