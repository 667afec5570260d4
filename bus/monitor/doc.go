// Package monitor serves the state of a broker over HTTP: general state in /varz,
// connections in /connz, subscriptions in /subsz, and so on, with the paths, names
// and types that monitoring tools of the protocol expect. /metrics is for
// Prometheus; /topz lists the busiest subjects.
//
// State is read on request; nothing runs between requests. A list locks one
// connection after the other, never two at once, so that it does not delay
// publishers.
//
// The broker has no clusters, leaf nodes, JetStream or accounts. Requests for them
// get the answer of a single server that uses none of them.
package monitor
