package peer

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/seal"
)

const (
	// serverName is the name in every certificate: addresses change, and only the
	// secret decides who belongs to the cluster.
	serverName = "peer.mcp-all-in-one.internal"
	// certLife is how long a certificate is valid. It is replaced after half of
	// that.
	certLife = 24 * time.Hour
	// clockSkew is how far the clock of another replica may be behind.
	clockSkew = time.Hour
)

// certificates prove that a replica has the secret. The authority is derived from
// the secret and is the same on every replica. Each replica signs its own
// certificate with it.
type certificates struct {
	node  string
	roots *x509.CertPool
	ca    *x509.Certificate // authority of the secret that seals
	key   ed25519.PrivateKey

	mu   sync.Mutex
	made time.Time
	cert *tls.Certificate
}

func newCertificates(ring *seal.Ring, cluster, node string) (*certificates, error) {
	c := &certificates{node: node, roots: x509.NewCertPool()}
	for i, seed := range ring.Keys(seal.CA) {
		key := ed25519.NewKeyFromSeed(seed)
		ca, err := authority(key, cluster)
		if err != nil {
			return nil, err
		}
		c.roots.AddCert(ca)
		if i == 0 {
			c.ca, c.key = ca, key
		}
	}
	_, err := c.current()
	return c, err
}

// authority returns the certificate of a key. It has the same bytes on every
// replica.
func authority(key ed25519.PrivateKey, cluster string) (*x509.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcp-all-in-one cluster " + cluster},
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, i18n.Errorf("making the authority of the cluster: %w", "生成集群证书机构失败：%w", err)
	}
	return x509.ParseCertificate(raw)
}

// current returns the certificate of this replica. It makes a new one if the old
// one is half expired.
func (c *certificates) current() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cert != nil && time.Since(c.made) < certLife/2 {
		return c.cert, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, i18n.Errorf("making a key: %w", "生成密钥失败：%w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes([]byte(rand.Text())), Subject: pkix.Name{CommonName: c.node},
		DNSNames: []string{serverName}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, c.ca, key.Public(), c.key)
	if err != nil {
		return nil, i18n.Errorf("making the certificate of this replica: %w", "生成本副本的证书失败：%w", err)
	}
	c.made, c.cert = now, &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
	return c.cert, nil
}

// tls returns the configuration for client and server: both present a certificate
// and check the other's.
func (c *certificates) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: serverName,
		RootCAs: c.roots, ClientCAs: c.roots, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true,
		DynamicRecordSizingDisabled: true, // so that a header arrives in one record
		GetCertificate:              func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current() },
		GetClientCertificate:        func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.current() },
	}
}
