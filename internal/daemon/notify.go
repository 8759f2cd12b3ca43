package daemon

import (
	"net"
	"os"
)

// notifyReady tells systemd that clients find somebody there, where it asked to
// be told (sd_notify).
func notifyReady() error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	os.Unsetenv("NOTIFY_SOCKET") // it is not for our servers
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("READY=1"))
	return err
}
