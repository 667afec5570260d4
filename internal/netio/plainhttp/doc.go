// Package plainhttp answers plain HTTP requests in front of net/http: what programs
// send most is read at once, answered by one function and written at once, in memory
// that waiting connections do not hold. net/http answers everything else, and could
// answer all of it.
//
//	             ┌─ plain, and answered ─▶ one write
//	bytes ─▶ Request.parse
//	             └─ anything else ─▶ net/http, with these bytes and the connection for good
//
// Two readers of the same bytes may read them differently, and what one of them
// takes for a body is a request to the other. So plain is only what has one reading
// (Request.parse), and nothing is refused here. Whatever is malformed, unusual, large,
// slow, or of a path that the function leaves to net/http goes there from its first
// byte on, and the connection never comes back.
package plainhttp
