// Package handshake bounds what connections cost whose peers are not known yet, so that
// those who are find room and processors: how many handshakes of TLS compute at once
// ([Turns]), who stands at a door and has to make room for others ([Crowd]), who waits
// before it ([Room]), from where nothing is taken for a while since it has failed again and
// again ([Pauses]), and how those who come back after a restart are spared the work
// ([Tickets]).
//
// It knows nothing of what is spoken behind the door.
package handshake
