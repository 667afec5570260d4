// Package fence answers one question: which geofences of a set hold this point.
//
// It has no network, no storage and no clock, and a Go program can embed it.
//
// # Model
//
// A [Fence] is a list of parts (polygons), each a list of rings, with a key that is
// unique in its [Set]. A Set is an immutable [Snapshot] behind an atomic pointer: readers
// take no lock and allocate nothing, one writer at a time builds and publishes the next
// snapshot. A [Ref] names a fence in its set for as long as the process runs. An index
// [Kind] is a filter over the fences of a set: kinds differ in speed only, never in their
// answers, because one exact predicate decides in all of them.
//
// # Who owns a point
//
// Edges are straight in longitude and latitude (RFC 7946). Order each edge lo -> hi by
// (lat, then lon). An edge counts for the point p if lo.lat <= p.lat < hi.lat and p lies
// strictly to its west, evaluated exactly on the given float64 values. A part holds p if an
// odd number of the edges of all its rings count; a fence holds p if at least one part
// does. So a fence owns its west and south borders but not its east and north ones, and of
// two neighbours that share an edge bit for bit exactly one owns each point of it. The
// direction of rings never matters. A longitude of 180 asks for -180. A point that is not
// finite is in no fence.
package fence
