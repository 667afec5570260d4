package bridge

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Mark is the header with the ids of the servers that a message has left over bridges, with commas
// between them, the first one first. A server of a cluster has the id of the cluster: see
// identity. A message does not pass from or to a server that its mark lists.
const Mark = "Paddock-Bridge"

// maxHops bounds the bridges that a message passes. It ends circles of servers whose ids change
// from one message to the next.
const maxHops = 8

// identity returns the id in marks of a server with this id and cluster; "" = none. Messages reach
// all servers of a cluster, so these count as one.
func identity(server, cluster string) string {
	if cluster != "" {
		return "cluster:" + url.QueryEscape(cluster)
	}
	return server
}

// mark adds from to the mark of a message that passes from one server to another. The reason why it
// must not pass is loop or hops, else none. It changes h, which may be nil.
func mark(h nats.Header, from, to string) (nats.Header, Reason) {
	if from == to {
		return h, Loop
	}
	var ids []string
	for _, line := range h[Mark] {
		for id := range strings.SplitSeq(line, ",") {
			switch id = strings.TrimSpace(id); {
			case id == "":
				continue
			case id == from, id == to:
				return h, Loop
			case len(ids)+1 == maxHops:
				return h, Hops
			}
			ids = append(ids, id)
		}
	}
	return stamp(h, strings.Join(append(ids, from), ",")), none
}

// stamp sets the mark. It changes h, which may be nil.
//
// The mark of a reply is set to the server that it leaves, whatever it was: responders may copy
// the headers of a request, whose mark lists the server to which the reply returns. A reply goes
// back the way of its request, which is no circle.
func stamp(h nats.Header, ids string) nats.Header {
	if h == nil {
		h = make(nats.Header, 1)
	}
	h[Mark] = []string{ids}
	return h
}

// block returns the headers of a message in the protocol's form. The library has a status as two
// headers; a message without data that has these had it behind the version.
func block(h nats.Header, data []byte) []byte {
	b := []byte("NATS/1.0")
	status := h["Status"]
	inline := len(data) == 0 && len(status) == 1 && len(status[0]) == 3
	if inline {
		b = append(append(b, ' '), status[0]...)
		for _, text := range h["Description"] {
			b = append(append(b, ' '), text...)
		}
	}
	b = append(b, "\r\n"...)
	for _, key := range slices.Sorted(maps.Keys(h)) {
		if inline && (key == "Status" || key == "Description") {
			continue
		}
		for _, value := range h[key] {
			b = append(append(append(append(b, key...), ": "...), value...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}
