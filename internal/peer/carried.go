package peer

import (
	"crypto/tls"
	"encoding/hex"
	"net"
	"strings"
)

// carriedSuffix ends the addresses of replicas that have no peer port: the engine
// carries the connections to them. No name in a network ends like this.
const carriedSuffix = ".carried.invalid:1"

// CarriedAddress returns the address of a replica without a peer port.
func CarriedAddress(node string) string { return hex.EncodeToString([]byte(node)) + carriedSuffix }

// carriedNode returns the name of the replica with a carried address.
func carriedNode(address string) (string, bool) {
	text, ok := strings.CutSuffix(address, carriedSuffix)
	if !ok {
		return "", false
	}
	node, err := hex.DecodeString(text)
	return string(node), err == nil
}

// isCarried reports whether a replica has no peer port.
func isCarried(address string) bool { return strings.HasSuffix(address, carriedSuffix) }

// Reach returns the address at which n reaches a replica. A replica without a peer
// port may not reach those of the others either.
func Reach(n *Node, o Owner) string {
	if isCarried(n.self.Address) {
		return CarriedAddress(o.Node)
	}
	return o.Address
}

// Carried returns the peer port of n for connections that the engine carries.
func Carried(n *Node, ln net.Listener) net.Listener { return &secured{ln, n.certs.tls(), nil} }

// A secured listener lets only replicas connect.
type secured struct {
	net.Listener
	secure *tls.Config
	// stranger is told of connections that no replica opened; it may be nil.
	stranger func(from net.Addr)
}

func (l *secured) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	under := &recordConn{Conn: conn}
	return &servedConn{tls.Server(under, l.secure), under, l.stranger}, nil
}
