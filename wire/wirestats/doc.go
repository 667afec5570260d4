// Package wirestats shows what the connections of package wire count: over HTTP,
// through expvar, and to Prometheus. A program that wants none of it does not
// import any of that with wire.
//
// Everything is read when somebody asks; nothing runs in between. Asking costs each
// connection a moment of its lock.
package wirestats
