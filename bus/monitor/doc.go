// Package monitor answers the monitoring requests of the protocol's tools over HTTP: the broker's
// state at /varz, connections at /connz, subscriptions at /subsz, and so on, with the paths, names
// and types that those tools know. /metrics is for Prometheus, and /topz lists busy subjects.
//
// State is read on request; nothing runs in between. A list takes the lock of one connection after
// the other, never of two, so publishers are not delayed.
//
// This broker has no clusters, leaf nodes, JetStream and accounts. Requests for these get the
// answer of a single server that uses none.
package monitor
