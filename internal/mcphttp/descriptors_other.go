//go:build !unix

package mcphttp

import (
	"net"
	"net/http"
)

// spareDescriptors has nothing to do: descriptors are not scarce here.
func spareDescriptors(net.Conn, http.ConnState) {}
