package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
)

// runFloorRaw relays HTTP messages without a library: the least work that a
// relay can do without interpreting them.
func runFloorRaw(args []string) error {
	target, err := floorTarget("floor-raw", args)
	if err != nil {
		return err
	}
	return listenAndServe("127.0.0.1:0", func(client net.Conn) error {
		server, err := net.Dial("tcp", target.Host)
		if err != nil {
			return err
		}
		defer server.Close()
		up, down := newMessageReader(client), newMessageReader(server)
		for {
			if err := relay(up, server); err != nil {
				return err
			}
			if err := relay(down, client); err != nil {
				return err
			}
		}
	})
}

func relay(from *messageReader, to io.Writer) error {
	if err := from.next(); err != nil {
		return err
	}
	_, err := to.Write(from.whole())
	return err
}

// runFloorHTTPUtil relays with the standard library. It reads the whole request
// before it forwards it: ReverseProxy loses answers when it streams a request.
func runFloorHTTPUtil(args []string) error {
	target, err := floorTarget("floor-httputil", args)
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 2000, 2000
	transport.DisableCompression = true
	proxy.Transport = transport
	buffered := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "reading the body", http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, r)
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("endpoint http://%s/mcp\n", ln.Addr())
	go exitWithParent()
	return http.Serve(ln, buffered)
}

func floorTarget(name string, args []string) (*url.URL, error) {
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	// With ExitOnError, Parse never returns an error.
	_ = flags.Parse(args)
	if flags.NArg() != 1 {
		return nil, errors.New("want the URL to relay to")
	}
	return url.Parse(flags.Arg(0))
}

// runPipeRelay starts a command and copies bytes in both directions.
func runPipeRelay(args []string) error {
	cmd, in, out, err := startPiped(args)
	if err != nil {
		return err
	}
	go func() {
		pump(in, os.Stdin)
		in.Close()
	}()
	pump(os.Stdout, out)
	return cmd.Wait()
}

// startPiped starts a command with pipes for its input and output.
func startPiped(args []string) (cmd *exec.Cmd, in io.WriteCloser, out *os.File, err error) {
	if len(args) == 0 {
		return nil, nil, nil, errors.New("want a command")
	}
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return cmd, in, from.(*os.File), cmd.Start()
}

// pump copies through a buffer, as every relay that reads its data must:
// io.Copy would leave the copy to the kernel.
func pump(to io.Writer, from io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
