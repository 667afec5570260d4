//go:build !race && !wiredebug

package frame

// Mangle spoils memory that is given back.
const Mangle = false
