package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
)

// upstreamFlags are the flags of both kinds of server.
type upstreamFlags struct {
	server   *server
	listen   string
	together bool
}

func parseUpstream(name string, args []string) *upstreamFlags {
	var f upstreamFlags
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "address to listen on, over HTTP")
	flags.BoolVar(&f.together, "together", false, "write answers to what came together in one write, over stdio")
	tools := flags.Int("tools", 3, "how many tools to list")
	modern := flags.Bool("modern", false, "speak 2026-07-28 alone")
	stream := flags.Bool("stream", false, "answer with event streams, over HTTP")
	// With ExitOnError, Parse never returns an error.
	_ = flags.Parse(args)
	f.server = newServer(*tools, *modern)
	f.server.stream = *stream
	return &f
}

// runUpstreamStdio answers one message per line.
func runUpstreamStdio(args []string) error {
	f := parseUpstream("upstream-stdio", args)
	buf := make([]byte, 0, 256<<10)
	var out []byte
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := os.Stdin.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return nil // the client has closed the pipe
		}
		buf = buf[:len(buf)+n]
		rest := buf
		for {
			line, behind, found := bytes.Cut(rest, []byte("\n"))
			if !found {
				break
			}
			rest = behind
			if out, err = f.server.writeLine(out, line); err != nil {
				return err
			}
			if f.together && bytes.IndexByte(rest, '\n') >= 0 {
				continue
			}
			if _, err := os.Stdout.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
		buf = buf[:copy(buf, rest)]
	}
}

// writeLine appends an answer to out. It writes a large one directly, after the
// contents of out.
func (s *server) writeLine(out, msg []byte) ([]byte, error) {
	if s.refuses(msg) {
		id, _ := s.read(msg)
		return append(out, refusal(id)+"\n"...), nil
	}
	head, result := s.answer(nil, msg)
	if head == nil {
		return out, nil
	}
	out = append(out, head...)
	if len(result) < 64<<10 {
		return append(append(out, result...), "}\n"...), nil
	}
	for _, part := range [][]byte{out, result} {
		if _, err := os.Stdout.Write(part); err != nil {
			return nil, err
		}
	}
	return append(out[:0], "}\n"...), nil
}

func refusal(id []byte) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
}

// runUpstreamHTTP answers over hand-written HTTP/1.1.
func runUpstreamHTTP(args []string) error {
	f := parseUpstream("upstream-http", args)
	return listenAndServe(f.listen, f.server.serveConn)
}

// listenAndServe prints its address and serves each connection.
func listenAndServe(address string, serve func(net.Conn) error) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("endpoint http://%s/mcp\n", ln.Addr())
	go exitWithParent()
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if err := serve(conn); err != nil && err != io.EOF {
				fmt.Fprintln(os.Stderr, "connection ended:", err)
			}
		}()
	}
}

func (s *server) serveConn(conn net.Conn) error {
	m := newMessageReader(conn)
	var head []byte
	for {
		if err := m.next(); err != nil {
			return err
		}
		head = head[:0]
		switch body := m.body(); {
		case bytes.HasPrefix(m.start(), []byte("GET")):
			head = append(head, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"...)
		case len(body) == 0:
			head = append(head, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"...)
		case s.refuses(body):
			id, _ := s.read(body)
			text := refusal(id)
			head = fmt.Appendf(head, "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		default:
			if err := s.respond(conn, &head, body); err != nil {
				return err
			}
			continue
		}
		if _, err := conn.Write(head); err != nil {
			return err
		}
	}
}

func (s *server) respond(conn net.Conn, buf *[]byte, body []byte) error {
	var digits [256]byte
	start, result := s.answer(digits[:0], body)
	if start == nil {
		_, err := conn.Write([]byte("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"))
		return err
	}
	if s.stream {
		return respondStream(conn, buf, start, result)
	}
	head := append(*buf, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "...)
	head = strconv.AppendInt(head, int64(len(start)+len(result)+1), 10)
	head = append(append(head, "\r\n\r\n"...), start...)
	if len(result) < 64<<10 {
		head = append(append(head, result...), '}')
		*buf = head
		_, err := conn.Write(head)
		return err
	}
	*buf = head
	parts := net.Buffers{head, result, []byte("}")}
	_, err := parts.WriteTo(conn)
	return err
}

// respondStream writes an answer as the only event of a stream, and the end of
// the stream in a separate write, as most servers do.
func respondStream(conn net.Conn, buf *[]byte, start, result []byte) error {
	const before, after = "event: message\ndata: ", "}\n\n"
	head := append(*buf, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"...)
	head = strconv.AppendInt(head, int64(len(before)+len(start)+len(result)+len(after)), 16)
	head = append(append(head, "\r\n"+before...), start...)
	*buf = head
	parts := net.Buffers{head, result, []byte(after + "\r\n")}
	if _, err := parts.WriteTo(conn); err != nil {
		return err
	}
	_, err := io.WriteString(conn, "0\r\n\r\n")
	return err
}

// exitWithParent ends this process when the benchmark that started it has
// ended: the pipe on standard input is then closed. A terminal on standard
// input is ignored.
func exitWithParent() {
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
