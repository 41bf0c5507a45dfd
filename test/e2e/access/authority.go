package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync/atomic"
	"time"
)

const validFor = 12 * time.Hour

// Authority issues the certificates of one cluster.
type Authority struct {
	PEM  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last atomic.Int64 // serial number
}

// Pair is a certificate and its key.
type Pair struct {
	Cert, Key []byte // PEM
	Serial    int64
}

// NewAuthority makes a CA of its own.
func NewAuthority(name string) (*Authority, error) {
	a := &Authority{}
	template := a.template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}
	a.key, a.PEM = key, block("CERTIFICATE", der)
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

func (a *Authority) template(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(a.last.Add(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validFor)}
}

// Issue makes a new key and a certificate for both directions, as the peers of
// a cluster use it.
func (a *Authority) Issue(name string, hosts ...string) (Pair, error) {
	template := a.template(name)
	template.DNSNames, template.KeyUsage = hosts, x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("issue certificate for %s: %w", name, err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	return Pair{Cert: block("CERTIFICATE", der), Key: block("EC PRIVATE KEY", secret), Serial: template.SerialNumber.Int64()}, err
}

// Client is the configuration of somebody who presents the pair and expects
// the server to have this name.
func (a *Authority) Client(p Pair, serverName string) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: serverName, Certificates: []tls.Certificate{pair}}, nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
