package install

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"

	"github.com/smallstep/pkcs7"

	"mcp-all-in-one/internal/i18n"
)

// The official tool appends its signature to the archive: the head, the length
// of the PKCS #7 data in four bytes, the data, and the tail.
const (
	signatureHead = "MCPB_SIG_V1"
	signatureTail = "MCPB_SIG_END"
	maxSignature  = 1 << 20
)

// A Signature identifies the signer of a bundle.
type Signature struct {
	Subject string // the name in the certificate
	Issuer  string
	SHA256  string // of the certificate
	// SelfSigned says that the signer made the certificate. Anybody can write
	// any name into such a certificate.
	SelfSigned bool
	// Untrusted is why the certificate is not trusted on this machine; nil if it
	// is.
	Untrusted error
}

// Signer identifies the signer, so that the signers of two bundles can be compared:
// it is the name in a certificate that this machine trusts, or the hash of the
// certificate. It is "" without a signature.
func (s *Signature) Signer() string {
	switch {
	case s == nil:
		return ""
	case s.Untrusted == nil:
		return s.Subject
	}
	return "sha256:" + s.SHA256
}

// By reports whether the signer is the one that Signer returned earlier. A
// certificate may have become trusted since.
func (s *Signature) By(signer string) bool {
	return s != nil && (s.Signer() == signer || "sha256:"+s.SHA256 == signer)
}

// readSignature checks the signature at the end of a bundle. It returns the
// size of what was signed: nothing after that belongs to the archive. A bundle
// without a signature returns nil and its whole size.
func readSignature(file io.ReaderAt, size int64) (*Signature, int64, error) {
	end := make([]byte, min(size, maxSignature))
	if _, err := file.ReadAt(end, size-int64(len(end))); err != nil {
		return nil, 0, err
	}
	if !bytes.HasSuffix(end, []byte(signatureTail)) {
		return nil, size, nil
	}
	at := bytes.LastIndex(end, []byte(signatureHead))
	if at < 0 {
		return nil, 0, badBundle("its signature has no beginning", "签名没有开头")
	}
	block := end[at+len(signatureHead) : len(end)-len(signatureTail)]
	if len(block) < 4 || int64(binary.LittleEndian.Uint32(block)) != int64(len(block)-4) {
		return nil, 0, badBundle("its signature has another length than it says", "签名的长度与声明不符")
	}
	signed := size - int64(len(end)) + int64(at)
	s, err := checkSignature(block[4:], io.NewSectionReader(file, 0, signed))
	if err != nil {
		return nil, 0, badBundle("its signature does not fit, so it was changed after it was signed: %v", "签名不符，签名之后内容被改动过：%v", i18n.Why(err))
	}
	return s, signed, nil
}

// A strength is a hash that a signature may use, and the algorithm with an RSA
// and with an elliptic key.
type strength struct {
	oid        asn1.ObjectIdentifier
	hash       crypto.Hash
	rsa, ecdsa x509.SignatureAlgorithm
}

var strengths = []strength{
	{pkcs7.OIDDigestAlgorithmSHA256, crypto.SHA256, x509.SHA256WithRSA, x509.ECDSAWithSHA256},
	{pkcs7.OIDDigestAlgorithmSHA384, crypto.SHA384, x509.SHA384WithRSA, x509.ECDSAWithSHA384},
	{pkcs7.OIDDigestAlgorithmSHA512, crypto.SHA512, x509.SHA512WithRSA, x509.ECDSAWithSHA512},
}

// checkSignature checks that content was signed, and by which certificate.
func checkSignature(data []byte, content io.Reader) (*Signature, error) {
	p, err := pkcs7.Parse(data)
	if err != nil {
		return nil, err
	}
	cert := p.GetOnlySigner()
	if cert == nil {
		return nil, i18n.Errorf("it has no signer, or several", "没有签名者，或有多个")
	}
	signer := &p.Signers[0]
	i := slices.IndexFunc(strengths, func(a strength) bool { return a.oid.Equal(signer.DigestAlgorithm.Algorithm) })
	if i < 0 {
		return nil, i18n.Errorf("its hash is unknown, or too weak", "其摘要算法未知或过弱")
	}
	sum := strengths[i].hash.New()
	if _, err := io.Copy(sum, content); err != nil {
		return nil, err
	}
	var digest []byte
	if err := p.UnmarshalSignedAttribute(pkcs7.OIDAttributeMessageDigest, &digest); err != nil {
		return nil, err
	}
	if !bytes.Equal(digest, sum.Sum(nil)) {
		return nil, i18n.Errorf("the hash of the bundle is another", "安装包的摘要不同")
	}
	// What is signed are the attributes in the order in which they are written.
	// The official tool does not sort them, as PKCS #7 wants, so Verify of the
	// library would refuse all that it signs.
	var attributes []byte
	for _, a := range signer.AuthenticatedAttributes {
		raw, err := asn1.Marshal(a)
		if err != nil {
			return nil, err
		}
		attributes = append(attributes, raw...)
	}
	signed, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: attributes})
	if err != nil {
		return nil, err
	}
	algorithm := strengths[i].rsa
	if cert.PublicKeyAlgorithm == x509.ECDSA {
		algorithm = strengths[i].ecdsa
	}
	if err := cert.CheckSignature(algorithm, signed, signer.EncryptedDigest); err != nil {
		return nil, err
	}
	return signatureOf(cert, p.Certificates), nil
}

// signatureOf describes a certificate, and whether this machine trusts it.
func signatureOf(cert *x509.Certificate, all []*x509.Certificate) *Signature {
	sum := sha256.Sum256(cert.Raw)
	s := &Signature{Subject: cert.Subject.String(), Issuer: cert.Issuer.String(), SHA256: hex.EncodeToString(sum[:]), SelfSigned: bytes.Equal(cert.RawSubject, cert.RawIssuer)}
	others := x509.NewCertPool()
	for _, c := range all {
		others.AddCert(c)
	}
	// Only the signer vouches for the time of the signature, so the certificate
	// must be valid now.
	_, s.Untrusted = cert.Verify(x509.VerifyOptions{Intermediates: others, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}})
	return s
}
