//go:build race || wiredebug

package wire

// mangle spoils memory that is given back.
const mangle = true
