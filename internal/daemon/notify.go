package daemon

import (
	"net"
	"os"
)

// notifyReady tells systemd (sd_notify) that the gateway accepts clients, if
// systemd asked for that.
func notifyReady() error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	os.Unsetenv("NOTIFY_SOCKET") // our servers must not inherit it
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("READY=1"))
	return err
}
