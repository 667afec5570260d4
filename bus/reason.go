package bus

import (
	"errors"

	"paddock/bus/internal/protocol"
	"paddock/bus/internal/websocket"
)

// CloseReason is why a connection ended. The texts are the ones that monitoring tools of the
// protocol know.
type CloseReason uint8

// The reasons for which this broker closes connections.
const (
	ClientClosed CloseReason = iota + 1
	AuthenticationTimeout
	AuthenticationFailure
	SlowConsumerPendingBytes
	SlowConsumerWriteDeadline
	WriteError
	ReadError
	ParseError
	StaleConnection
	ProtocolViolation
	BadClientProtocolVersion
	MaxConnectionsExceeded
	MaxPayloadExceeded
	MaxControlLineExceeded
	ServerShutdown
	NoRespondersRequiresHeaders
	TLSHandshakeFailure
	reasonCount
)

var reasonTexts = [reasonCount]string{
	ClientClosed:                "Client Closed",
	AuthenticationTimeout:       "Authentication Timeout",
	AuthenticationFailure:       "Authentication Failure",
	SlowConsumerPendingBytes:    "Slow Consumer (Pending Bytes)",
	SlowConsumerWriteDeadline:   "Slow Consumer (Write Deadline)",
	WriteError:                  "Write Error",
	ReadError:                   "Read Error",
	ParseError:                  "Parse Error",
	StaleConnection:             "Stale Connection",
	ProtocolViolation:           "Protocol Violation",
	BadClientProtocolVersion:    "Bad Client Protocol Version",
	MaxConnectionsExceeded:      "Maximum Connections Exceeded",
	MaxPayloadExceeded:          "Maximum Message Payload Exceeded",
	MaxControlLineExceeded:      "Maximum Control Line Exceeded",
	ServerShutdown:              "Server Shutdown",
	NoRespondersRequiresHeaders: "No Responders Requires Headers",
	TLSHandshakeFailure:         "TLS Handshake Failure",
}

// CloseReasons returns all reasons.
func CloseReasons() []CloseReason {
	var all []CloseReason
	for r := ClientClosed; r < reasonCount; r++ {
		all = append(all, r)
	}
	return all
}

func (r CloseReason) String() string {
	if r < reasonCount && reasonTexts[r] != "" {
		return reasonTexts[r]
	}
	return "Unknown"
}

// abrupt reports whether pending bytes are dropped, because the client does not read or cannot be
// written to.
func (r CloseReason) abrupt() bool {
	switch r {
	case SlowConsumerPendingBytes, SlowConsumerWriteDeadline, WriteError, ReadError:
		return true
	default:
		return false
	}
}

// closeCode returns the code of WebSocket for a reason.
func (r CloseReason) closeCode() int {
	switch r {
	case ClientClosed:
		return websocket.CloseNormal
	case AuthenticationTimeout, AuthenticationFailure, SlowConsumerPendingBytes, SlowConsumerWriteDeadline,
		MaxConnectionsExceeded, MaxControlLineExceeded:
		return websocket.ClosePolicy
	case ParseError, ProtocolViolation, BadClientProtocolVersion:
		return websocket.CloseProtocolError
	case MaxPayloadExceeded:
		return websocket.CloseTooBig
	case WriteError, ReadError, StaleConnection, ServerShutdown:
		return websocket.CloseGoingAway
	default:
		return websocket.CloseServerError
	}
}

// violation ends a connection: text goes out as -ERR unless it is empty.
type violation struct {
	text   string
	reason CloseReason
}

func (v *violation) Error() string {
	if v.text == "" {
		return v.reason.String()
	}
	return v.text
}

// The ends that the protocol knows. Clients compare these texts.
var (
	errUnknownOp     = &violation{"Unknown Protocol Operation", ProtocolViolation}
	errArguments     = &violation{"", ProtocolViolation} // malformed arguments or CONNECT: no -ERR
	errControlLine   = &violation{"maximum control line exceeded", MaxControlLineExceeded}
	errPayload       = &violation{"Maximum Payload Violation", MaxPayloadExceeded}
	errAuthorization = &violation{"Authorization Violation", AuthenticationFailure}
	errAuthTimeout   = &violation{"Authentication Timeout", AuthenticationTimeout}
	errStale         = &violation{"Stale Connection", StaleConnection}
	errMaxConns      = &violation{"maximum connections exceeded", MaxConnectionsExceeded}
	errProtoVersion  = &violation{"invalid client protocol", BadClientProtocolVersion}
	errNoResponders  = &violation{"no responders requires headers support", NoRespondersRequiresHeaders}
	errNoHandshake   = &violation{"Secure Connection - TLS Required", TLSHandshakeFailure}
	errHandshake     = &violation{"", TLSHandshakeFailure} // TLS has sent its own alert
	errThrottled     = &violation{"Connection throttling is active. Please try again later.", MaxConnectionsExceeded}
	errClientErr     = &violation{"", ParseError} // the client sent -ERR
)

// Refusals that leave the connection open.
const (
	textInvalidSubject    = "Invalid Subject"
	textInvalidPublish    = "Invalid Publish Subject"
	textMaxSubscriptions  = "maximum subscriptions exceeded"
	textDeniedPublish     = "Permissions Violation for Publish to %q"
	textDeniedReply       = "Permissions Violation for Publish with Reply of %q"
	textTooManyTokens     = "Permissions Violation for Subscription to %q, too many tokens"
	textDeniedSubscribe   = "Permissions Violation for Subscription to %q"
	textDeniedSubscribeTo = "Permissions Violation for Subscription to %q using queue %q"
)

// violationOf returns the violation for which err ends a connection; nil if it does not.
func violationOf(err error) *violation {
	switch err {
	case nil:
		return nil
	case protocol.ErrUnknownOperation:
		return errUnknownOp
	case protocol.ErrArguments:
		return errArguments
	case protocol.ErrControlLine:
		return errControlLine
	case protocol.ErrPayload:
		return errPayload
	case protocol.ErrConnectFirst:
		return errAuthorization
	case protocol.ErrClientError:
		return errClientErr
	}
	v, _ := errors.AsType[*violation](err)
	return v
}
