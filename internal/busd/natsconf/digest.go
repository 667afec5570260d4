package natsconf

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest names what a tree says, whatever it looks like: files with the same keys
// and values have the same digest, which is also the one that the reference gives
// them.
func Digest(n *Node) (string, error) {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(n.Any()); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}
