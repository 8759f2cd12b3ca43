package traffic

import (
	"bytes"
	"regexp"
)

// TicketPath begins the address of a page that lets who has the address act for
// somebody: the record has no such address whole.
const TicketPath = "/ui/value/"

var ticket = regexp.MustCompile(TicketPath + `\w+`)

// maxTicketed is how long a message with an address is at most.
const maxTicketed = 64 << 10

// withoutTickets is a body as it is recorded, as long as before.
func withoutTickets(body []byte) []byte {
	if len(body) > maxTicketed || !bytes.Contains(body, []byte(TicketPath)) {
		return body
	}
	return ticket.ReplaceAllFunc(body, func(address []byte) []byte {
		return append([]byte(TicketPath), bytes.Repeat([]byte("*"), len(address)-len(TicketPath))...)
	})
}
