package mcptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A Certificate is a self-signed certificate for names and addresses.
type Certificate struct {
	Cert, Key []byte // PEM
	Serial    *big.Int
}

// NewCertificate returns a certificate that is valid now.
func NewCertificate(t testing.TB, names ...string) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("making a certificate: %v", err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatalf("making a certificate: %v", err)
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, name := range names {
		if addr, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, addr.AsSlice())
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatalf("making a certificate: %v", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("making a certificate: %v", err)
	}
	return Certificate{Serial: serial, Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

// Write writes the certificate to cert.pem and key.pem in a folder, each with a
// rename, like programs that renew certificates.
func (c Certificate) Write(t testing.TB, dir string) {
	t.Helper()
	for name, data := range map[string][]byte{"cert.pem": c.Cert, "key.pem": c.Key} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", data, 0o600); err != nil {
			t.Fatalf("making a certificate: %v", err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatalf("making a certificate: %v", err)
		}
	}
}

// Pool returns a pool that trusts the certificates.
func Pool(list ...Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range list {
		pool.AppendCertsFromPEM(c.Cert)
	}
	return pool
}
