// Package wirestats shows the counters of connections of package wire: over HTTP, through expvar,
// and to Prometheus. It is a package of its own, so that programs without it do not link these.
//
// The counters are read on request; nothing runs in between. A request takes the lock of each
// connection for a moment.
package wirestats
