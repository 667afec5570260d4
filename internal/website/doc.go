// Package website serves the files of one directory over HTTP.
//
// A path becomes a page: one file, its type, and the encodings that stand
// precompressed beside it. Pages of small files are kept in memory, bounded, and
// compared with their files once a second while they are asked for.
//
//	            ┌── plain GET of a page in memory ──▶ one read, one write
//	connection ─┤
//	            └── everything else, bytes unread ──▶ net/http ─▶ Site.ServeHTTP
//
// The short way is that of package plainhttp. It answers a GET or HEAD without a body,
// conditions, ranges or anything else that could change the answer. From the first
// request on that is not so, net/http has the connection, beginning with the very
// bytes of that request. So there are never two readings of one stream, and both
// ways give the same bytes.
//
// No way leads out of the directory: files are opened through [os.Root], symbolic
// links included.
package website
