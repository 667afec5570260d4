package auth

import (
	"fmt"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func hashOf(t *testing.T, secret string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(secret), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// A secret that has been verified is known from then on; no other is.
func TestSecretsAreComparedOnce(t *testing.T) {
	h, hash, never := NewHasher(), hashOf(t, "secret"), make(chan struct{})
	if same, ok := h.Matches("secret", hash, never, never); !same || !ok {
		t.Fatal(same, ok)
	}
	if same, ok := h.Matches("wrong", hash, never, never); same || !ok {
		t.Fatal(same, ok)
	}
	for secret, known := range map[string]bool{"secret": true, "wrong": false, "": false} {
		if same, decided := h.Quick(secret, hash); same != known || decided != known {
			t.Errorf("%q: known is not %v", secret, known)
		}
	}
	if _, decided := h.Quick("secret", hash[:len(hash)-1]+"x"); decided {
		t.Error("known for another hash")
	}
	for i := range maxVerified {
		h.verified[h.sum(fmt.Sprint(i), hash)] = struct{}{}
	}
	if same, _ := h.Matches("other", hashOf(t, "other"), never, never); !same {
		t.Error("the right secret does not match")
	}
	if n := len(h.verified); n > maxVerified {
		t.Errorf("%d secrets are remembered", n)
	}
}
