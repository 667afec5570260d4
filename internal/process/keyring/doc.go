// Package keyring holds the keys of a platform: secrets that programs and people present at its
// interfaces, and what each may do.
//
// A [Key] describes a secret by its SHA-256, with verbs, fleets and sets. The [Ring] finds the
// [Grant] of a secret. An interface asks the grant before each action, and ends what it serves for
// a grant once that has ended: the key was removed, replaced, or has expired.
//
// A secret is random and long, so a fast hash protects it: its 256 bits cannot be tried out. A key
// is found by the digest of the secret, and digests are compared in constant time.
package keyring
