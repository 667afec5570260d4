//go:build !race && !wiredebug

package frame

// mangle spoils memory that is given back.
const Mangle = false
