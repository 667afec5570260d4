// Package tunnelbench holds the goals of bench-tunnel: the tunnel of ours beside rathole and
// OpenSSH, each a server's process and a client's, with nginx behind it and wrk before it.
// What is compared is the processor time that both processes take for a request.
package tunnelbench
