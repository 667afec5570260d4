// Package fence answers one question: which geofences of a set hold this point.
//
// It has no network, no storage and no clock, and a Go program can embed it.
//
// # Model
//
// A [Fence] is a list of parts (polygons), each a list of rings, with a key that is unique in its
// [Set]. A Set is an immutable [Snapshot] behind an atomic pointer: readers take no lock and
// allocate nothing, one writer at a time builds and publishes the next snapshot. A [Ref] names a
// fence in its set for as long as the process runs. An index [Kind] is a filter over the fences of
// a set: kinds differ in speed only, never in their answers, because one exact predicate decides in
// all of them. A [Catalog] holds sets by name, and [LoadDir] makes one of a directory of GeoJSON
// files.
//
// # Ownership of a point
//
// Edges are straight in longitude and latitude (RFC 7946). Order each edge lo -> hi by (lat, then
// lon). An edge counts for the point p if lo.lat <= p.lat < hi.lat and p lies strictly to its west,
// evaluated exactly on the given float64 values. A part holds p if an odd number of the edges of
// all its rings count; a fence holds p if at least one part does. So a fence owns its west and
// south borders but not its east and north ones, and of two neighbours that share an edge bit for
// bit exactly one owns each point of it. The direction of rings never matters. A longitude of 180
// asks for -180. A point that is not finite is in no fence. [geometry.Boundary] chooses another
// rule for points exactly on an edge.
//
// An edge over more than 180 degrees of longitude goes the long way round, unless
// [geometry.Antimeridian] says otherwise. [geometry.Circle], [geometry.Rectangle] and
// [geometry.Corridor] make areas of other shapes.
//
// # Lines
//
// A fence of lines alone holds no point, so it is in no answer of Append. Paths cross it:
// [geometry.MultiLine] tells where and from which side. A line whose properties have
// "paddock:buffer", a number of metres, is a corridor: an area around the line, which still has the
// line, to tell how far along it a point is.
//
// # Settings
//
// Properties that begin with "paddock:" are settings of a fence, which [geojson.Fence.Settings]
// reads: its floor and ceiling, its end, and what package track asks for before a membership
// changes. Look-ups use none of them. With [Options].Now, fences that have ended are skipped when
// they are read.
//
// # Errors and findings
//
// A document that is unfit as a whole is an error, and nothing of it is used:
//
//   - [geojson.SyntaxError]: it is not JSON (RFC 8259), or nests deeper than 64;
//   - [geojson.ErrNotGeoJSON]: it is JSON but no FeatureCollection, Feature or geometry, or it is
//     TopoJSON;
//   - [geojson.ErrCRS]: it names a coordinate reference system other than CRS84 or EPSG:4326;
//   - [geojson.ErrLimit]: it has more vertices than [geojson.Limits] allow;
//   - or an error of its reader.
//
// For a directory there are also [ErrNoSets], [ErrExists] (two files of one slug) and [ErrName] (a
// file without one).
//
// Everything else is a [geojson.Finding], which gives file, feature, code, reason and place, and
// affects at most its own feature:
//
//   - accepted, with answers by the definition above: rings that are not closed, repeat a vertex,
//     have spikes, cross or touch themselves or one another; holes outside their shell or within
//     another; parts that overlap; edges over half the world; rings without an area and lines
//     without a length, which are dropped; ids that another feature has or that are no ids;
//     properties that are no object, and settings without a valid value, which are left out;
//   - skipped: features without geometry or bbox, points without a radius, expired fences;
//   - refused ([geojson.Finding].Fatal): coordinates out of range or not finite, coordinates of the
//     wrong shape, geometry collections, elements that are no Feature, features with a coordinate
//     reference system of their own, of more bytes than the limit, without any area or length, or
//     with a buffer that is none. With [Options].Strict also what crosses, touches itself, overlaps
//     or is nested wrongly.
//
// The error for a single fence that a Set or [geojson.ParseFeature] refuses is a
// [geojson.RefusedError] with its finding.
package fence
