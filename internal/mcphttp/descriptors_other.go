//go:build !unix

package mcphttp

import (
	"net"
	"net/http"
)

// spareDescriptors does nothing: descriptors are not scarce here.
func spareDescriptors(net.Conn, http.ConnState) {}
