// Package monitor answers over HTTP what tools of the protocol ask a broker about
// itself: its state in /varz, connections in /connz, subscriptions in /subsz, and
// so on, under the paths, names and types that those tools know. /metrics is for
// Prometheus, /topz shows what subjects are busiest.
//
// Everything is read when somebody asks; nothing runs in between. A list takes the
// lock of one connection after the other, never of two, so that publishers are not
// held up by it.
//
// Clusters, leaf nodes, JetStream and accounts are things that this broker has not:
// what asks for them is answered as a single server answers that uses none.
package monitor
