// Package nowait reads from and writes to sockets without waiting, one system call
// each: for those who wait for a socket by syscall.RawConn, and then want to know
// from one call both what has come and whether another would be in vain.
package nowait
