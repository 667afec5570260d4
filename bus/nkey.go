package bus

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/nats-io/nkeys"
)

// nonceBytes is how many random bytes a client with an nkey has to sign; as text
// they are 15 characters.
const nonceBytes = 11

func newNonce() string {
	var b [nonceBytes]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// signed reports whether sig, in base64, is the signature of nonce by the key of
// a user. A connection without a nonce cannot have one.
func signed(public, nonce, sig string) bool {
	if nonce == "" || sig == "" {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		if raw, err = base64.StdEncoding.DecodeString(sig); err != nil {
			return false
		}
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify([]byte(nonce), raw) == nil
}
