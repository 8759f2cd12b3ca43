package safehttp

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
)

// nameServer answers every query for an A record with the result of answers. It has
// no other records.
func nameServer(t *testing.T, answers func() []netip.Addr) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(dnsAnswer(buf[:n], answers), from)
		}
	}()
	t.Cleanup(func() { pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func dnsAnswer(query []byte, answers func() []netip.Addr) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	reply := append([]byte(nil), query[:end+5]...)
	reply[2], reply[3] = 0x84, 0 // an authoritative answer
	copy(reply[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	if kind != 1 {
		return reply
	}
	for _, addr := range answers() {
		reply[7]++
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, addr.AsSlice()...)
	}
	return reply
}
