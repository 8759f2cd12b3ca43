package traffic

import (
	"bytes"

	"mcp-all-in-one/internal/lazy"
)

// TicketPath is the prefix of the address of a page that lets anyone who knows
// the address act for a user. Such addresses are masked in the record.
const TicketPath = "/ui/value/"

var ticket = lazy.Regexp(TicketPath + `\w+`)

// maxTicketed is the size above which a message is not searched for such
// addresses.
const maxTicketed = 64 << 10

// withoutTickets masks such addresses in a body. The length stays the same.
func withoutTickets(body []byte) []byte {
	if len(body) > maxTicketed || !bytes.Contains(body, []byte(TicketPath)) {
		return body
	}
	return ticket().ReplaceAllFunc(body, func(address []byte) []byte {
		return append([]byte(TicketPath), bytes.Repeat([]byte("*"), len(address)-len(TicketPath))...)
	})
}
