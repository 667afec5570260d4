package wiredump

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"paddock/internal/wire/frame"
)

// Append appends the line with its end.
func (l *Line) Append(dst []byte, asJSON bool) []byte {
	if asJSON {
		return append(l.appendJSON(dst), '\n')
	}
	dst = l.appendPlace(dst)
	switch l.Event {
	case "":
		dst = l.appendFrame(dst)
	case "long":
		dst = fmt.Appendf(l.appendHead(dst), " (not taken apart: over %d bytes)", wholeFrame)
	case "preface":
		dst = append(dst, "preface of version 1"...)
	case "broken":
		if l.Type != "" {
			dst = l.appendHead(append(dst, "! "...))
			dst = fmt.Appendf(dst, ", offset %d: %s(%d) %s", l.Offset, l.Code, l.CodeNumber, l.Reason)
			break
		}
		fallthrough
	case "incomplete":
		dst = fmt.Appendf(dst, "! offset %d: %s", l.Offset, l.Reason)
	case "dropped":
		dst = fmt.Appendf(dst, "! %d lines dropped: the output is too slow", l.Count)
	case "end":
		dst = fmt.Appendf(dst, "end after %d bytes", l.Count)
	default:
		dst = appendNonZero(append(dst, l.Event...), ": %s", l.Reason)
	}
	return append(dst, '\n')
}

// appendJSON escapes characters that a terminal would interpret and that JSON allows.
func (l *Line) appendJSON(dst []byte) []byte {
	b, err := json.Marshal(l)
	if err != nil { // every Line can be encoded
		panic(err)
	}
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if unicode.IsPrint(r) {
			dst = append(dst, b[:size]...)
		} else {
			for _, unit := range utf16.AppendRune(nil, r) {
				dst = fmt.Appendf(dst, `\u%04x`, unit)
			}
		}
		b = b[size:]
	}
	return dst
}

// appendPlace appends the place of a line: an offset, or a connection, the direction and the time.
func (l *Line) appendPlace(dst []byte) []byte {
	if l.Event == "dropped" {
		return dst
	}
	if l.Seconds == nil {
		return fmt.Appendf(dst, "%8d  ", l.Offset)
	}
	arrow := "--"
	switch l.From {
	case frame.Dialer.String():
		arrow = "->"
	case frame.Acceptor.String():
		arrow = "<-"
	}
	return fmt.Appendf(dst, "#%d %11.6f %s ", l.Conn, *l.Seconds, arrow)
}

func (l *Line) appendHead(dst []byte) []byte {
	dst = append(dst, l.Type...)
	switch {
	case l.Slot != "":
		dst = fmt.Appendf(dst, " %s", l.Slot)
	case l.typ == frame.CREDIT && l.ID == 0:
		dst = append(dst, " connection"...)
	case l.typ == frame.CREDIT && l.ID == 1:
		dst = append(dst, " posts"...)
	case l.typ == frame.GOAWAY:
		dst = fmt.Appendf(dst, " accepted=%d", l.ID)
	case l.typ == frame.EXTENSION, l.Event == "broken":
		dst = fmt.Appendf(dst, " id=%#x", l.ID)
	}
	switch {
	case l.Kind != "" && l.typ != frame.BIND:
		dst = fmt.Appendf(dst, " %s", l.Kind)
	case l.KindNumber != 0:
		dst = fmt.Appendf(dst, " kind=%d", l.KindNumber)
	}
	for _, flag := range l.Flags {
		dst = fmt.Appendf(dst, " %s", flag)
	}
	return fmt.Appendf(dst, " len=%d", l.Length)
}

func (l *Line) appendFrame(dst []byte) []byte {
	dst = l.appendHead(dst)
	switch l.typ {
	case frame.OPEN, frame.CREDIT:
		dst = fmt.Appendf(dst, " credit=%d", l.Credit)
	case frame.ACK:
		dst = fmt.Appendf(dst, " count=%d", l.Count)
	case frame.POSTS:
		dst = fmt.Appendf(dst, " posts=%d", l.Count)
	case frame.GOAWAY:
		if l.Code == "" {
			dst = append(dst, " drain"...)
		}
	}
	dst = appendNonZero(dst, " meta=%s", l.Meta)
	dst = appendNonZero(dst, " %s", l.Code)
	if l.Code != "" && l.Code != strconv.Itoa(int(l.CodeNumber)) {
		dst = fmt.Appendf(dst, "(%d)", l.CodeNumber)
	}
	if l.NotStarted {
		dst = append(dst, " not-started"...)
	}
	dst = appendNonZero(dst, " retry=%dms", l.RetryAfter)
	dst = appendNonZero(dst, " jitter=%dms", l.Jitter)
	dst = appendNonZero(dst, " %q", l.Text)
	dst = appendNonZero(dst, " %s", l.Content)
	for i := range l.Bodies {
		dst = l.Bodies[i].append(append(dst, ' '))
	}
	if more := l.Count - uint64(len(l.Bodies)); l.typ == frame.POSTS && more > 0 && len(l.Bodies) > 0 {
		dst = fmt.Appendf(dst, " and %d more", more)
	}
	return dst
}

func appendNonZero[T comparable](dst []byte, format string, v T) []byte {
	if v == *new(T) {
		return dst
	}
	return fmt.Appendf(dst, format, v)
}
