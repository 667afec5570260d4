package message

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// basicAuth is what the server knows of a tunnel's user and password: a salt, and the
// HMAC-SHA-256 of "user:password" under it. One HMAC costs a visitor's request a
// microsecond, and tells nobody the password who does not guess it.
type BasicAuth struct {
	Salt []byte `cbor:"1,keyasint,omitempty"`
	MAC  []byte `cbor:"2,keyasint,omitempty"`
}

const saltSize = 16

// newBasicAuth hides a user and a password.
func NewBasicAuth(userPassword string) *BasicAuth {
	a := &BasicAuth{Salt: make([]byte, saltSize)}
	_, _ = rand.Read(a.Salt) // never fails
	a.MAC = a.sum(userPassword)
	return a
}

func (a *BasicAuth) sum(userPassword string) []byte {
	mac := hmac.New(sha256.New, a.Salt)
	mac.Write([]byte(userPassword))
	return mac.Sum(nil)
}

func (a *BasicAuth) valid() bool { return len(a.Salt) == saltSize && len(a.MAC) == sha256.Size }

// admits judges the value of a field Authorization, RFC 7617, in the same time whatever
// is wrong with it.
func (a *BasicAuth) Admits(authorization string) bool {
	scheme, encoded, _ := strings.Cut(authorization, " ")
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	ok := hmac.Equal(a.sum(string(plain)), a.MAC)
	return ok && err == nil && strings.EqualFold(scheme, "Basic")
}
