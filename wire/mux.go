package wire

import (
	"context"
	"encoding"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"paddock/internal/wire/frame"
)

// Mux holds the handlers of a side, by kind. A kind may be served as a post, as a
// request and as a stream, by one handler each. All are registered before the Mux
// is used.
type Mux struct{ kinds map[string]*handler }

// handler serves a kind; a nil field is a verb that is not served.
type handler struct {
	kind    string
	inline  bool                                                        // answer, post and posts
	begins  bool                                                        // request: on the reader
	answer  func(ctx context.Context, body, dst []byte) ([]byte, error) // appends the answer
	request func(context.Context, *Request) error
	post    func(context.Context, []byte) error
	posts   func(context.Context, *Posts) error
	stream  func(context.Context, *Stream) error
}

// HandlerOption changes how a handler is called.
type HandlerOption func(*handler)

// Inline lets the handler run on the reader of the connection, which saves a
// goroutine. It must return soon, must not wait for anything, and must not call
// the peer and wait for the answer: nothing else of the connection is read
// meanwhile.
func Inline() HandlerOption { return func(h *handler) { h.inline = true } }

// NewMux returns a Mux that serves nothing.
func NewMux() *Mux { return &Mux{kinds: map[string]*handler{}} }

// Kinds returns the kinds that have a handler, in alphabetical order.
func (m *Mux) Kinds() []string { return slices.Sorted(maps.Keys(m.kinds)) }

// lookup never returns nil.
func (m *Mux) lookup(kind string) *handler {
	if h := m.kinds[kind]; h != nil {
		return h
	}
	return &handler{kind: kind}
}

func (h *handler) servesPosts() bool { return h.post != nil || h.posts != nil }

func (h *handler) servesRequests() bool { return h.answer != nil || h.request != nil }

func (h *handler) servesStreams() bool { return h.stream != nil }

// add returns the handler of a kind, to which the caller adds a function. It panics where the
// program is wrong: the name is not legal, or taken.
func (m *Mux) add(kind string, options []HandlerOption, taken func(*handler) bool) *handler {
	if !frame.ValidKindName(kind) {
		panic(fmt.Sprintf("wire: kind %q: want 1 to 255 of a-z, 0-9, dot, dash, underscore", kind))
	}
	h := m.kinds[kind]
	if h == nil {
		h = &handler{kind: kind}
		m.kinds[kind] = h
	}
	if taken(h) {
		panic(fmt.Sprintf("wire: kind %q has a handler for that already", kind))
	}
	for _, o := range options {
		o(h)
	}
	return h
}

// HandlePosts registers a handler that gets all bodies of a frame at once. See
// HandlePost for how it is called.
func (m *Mux) HandlePosts(kind string, fn func(context.Context, *Posts) error, options ...HandlerOption) {
	m.add(kind, options, (*handler).servesPosts).posts = fn
}

// HandleRequest registers a handler that has all the means of the protocol: it may answer, promote
// the answer to a stream, and read a body that goes on. If it returns without an answer, the caller
// gets its error, or INTERNAL if it has returned none. It runs on a goroutine of its own. With
// Inline it begins on the reader, where it must neither wait nor answer: it returns an error, or
// has called Request.Go or Request.Later.
func (m *Mux) HandleRequest(kind string, fn func(context.Context, *Request) error, options ...HandlerOption) {
	var own handler
	for _, o := range options {
		o(&own)
	}
	h := m.add(kind, nil, (*handler).servesRequests)
	h.request, h.begins = fn, own.inline
}

// HandleStream registers a handler of streams. It runs on a goroutine of its own;
// the stream ends when it returns: with END, or with the error as the peer's
// *Error. Its context ends when the peer resets the stream, or the connection ends.
func (m *Mux) HandleStream(kind string, fn func(context.Context, *Stream) error) {
	m.add(kind, nil, (*handler).servesStreams).stream = fn
}

// HandlePost registers a handler of posts. Their bodies are decoded as those of Handle. The handler
// is called for one post after the other, in the order in which they were sent: on the reader if
// Inline and no acknowledgement is wanted, else on one goroutine of the connection. The sender gets
// its credit back when the handler returns, so a slow handler delays only its sender. An error is
// counted, as is a body that does not decode.
func HandlePost[T any](m *Mux, kind string, fn func(context.Context, T) error, options ...HandlerOption) {
	raw, ok := any(fn).(func(context.Context, []byte) error)
	if !ok {
		codec := codecFor[T]()
		raw = func(ctx context.Context, body []byte) error {
			var v T
			if err := codec.decode(body, &v); err != nil {
				return err
			}
			return fn(ctx, v)
		}
	}
	m.add(kind, options, (*handler).servesPosts).post = raw
}

// Handle registers a handler of requests. Req and Res are []byte (as it is; borrowed until the
// handler returns), a type that encodes itself (encoding.BinaryAppender,
// encoding.BinaryUnmarshaler), or any type that CBOR can carry. Without Inline the handler runs on
// a goroutine of its own. With Inline it runs on the reader, and its context is that of the
// connection, without the caller's deadline. If the handler returns an *Error, the caller gets it;
// another error becomes UNKNOWN with its text, and a panic INTERNAL without a text.
func Handle[Req, Res any](m *Mux, kind string, fn func(context.Context, Req) (Res, error), options ...HandlerOption) {
	var answer func(context.Context, []byte, []byte) ([]byte, error)
	if raw, ok := any(fn).(func(context.Context, []byte) ([]byte, error)); ok {
		answer = func(ctx context.Context, body, dst []byte) ([]byte, error) {
			reply, err := raw(ctx, body)
			return append(dst, reply...), err
		}
	} else {
		in, out := codecFor[Req](), codecFor[Res]()
		answer = func(ctx context.Context, body, dst []byte) ([]byte, error) {
			var req Req
			if err := in.decode(body, &req); err != nil {
				return dst, &Error{Code: InvalidArgument, Msg: err.Error(), NotStarted: true}
			}
			res, err := fn(ctx, req)
			if err != nil {
				return dst, err
			}
			return out.append(dst, res)
		}
	}
	m.add(kind, options, (*handler).servesRequests).answer = answer
}

// Caller makes calls: a Conn, or a Client.
type Caller interface {
	// Call sends a request and waits for its answer; see Conn.Call.
	Call(ctx context.Context, kind string, body []byte) ([]byte, error)
}

// Call sends req and waits for the answer. Req and Res are encoded as those of Handle; a []byte
// that it returns is the caller's own. The errors are those of Conn.Call, or that a value cannot be
// encoded or decoded.
func Call[Req, Res any](ctx context.Context, c Caller, kind string, req Req) (res Res, err error) {
	body, err := codecFor[Req]().append(nil, req)
	if err != nil {
		return res, err
	}
	reply, err := c.Call(ctx, kind, body)
	if err != nil {
		return res, err
	}
	err = codecFor[Res]().decode(reply, &res)
	return res, err
}

// codec carries values of one type as bodies.
type codec[T any] struct {
	append func(dst []byte, v T) ([]byte, error)
	decode func(b []byte, v *T) error
}

// codecFor chooses: raw bytes as they are, a type that encodes itself, else CBOR.
func codecFor[T any]() codec[T] {
	var zero T
	switch any(&zero).(type) {
	case *[]byte:
		return codec[T]{appendRaw[T], decodeRaw[T]}
	case encoding.BinaryUnmarshaler:
		if _, ok := any(zero).(encoding.BinaryAppender); ok {
			return codec[T]{appendBinary[T], decodeBinary[T]}
		}
	}
	return codec[T]{appendCBOR[T], decodeCBOR[T]}
}

func appendRaw[T any](dst []byte, v T) ([]byte, error) {
	return append(dst, any(v).([]byte)...), nil
}

func decodeRaw[T any](b []byte, v *T) error {
	*any(v).(*[]byte) = b
	return nil
}

func appendBinary[T any](dst []byte, v T) ([]byte, error) {
	return any(v).(encoding.BinaryAppender).AppendBinary(dst)
}

func decodeBinary[T any](b []byte, v *T) error {
	return any(v).(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
}

// cborModes are strict: they refuse input that two readers could understand differently.
var cborModes = sync.OnceValues(func() (cbor.EncMode, cbor.DecMode) {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err)
	}
	dec, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden, MaxNestedLevels: 16,
		MaxArrayElements: 1 << 17, MaxMapPairs: 1 << 16,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return enc, dec
})

func appendCBOR[T any](dst []byte, v T) ([]byte, error) {
	enc, _ := cborModes()
	b, err := enc.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("wire: body of type %T: %w", v, err)
	}
	return append(dst, b...), nil
}

func decodeCBOR[T any](b []byte, v *T) error {
	_, dec := cborModes()
	if err := dec.Unmarshal(b, v); err != nil {
		return fmt.Errorf("wire: body for type %T: %w", *v, err)
	}
	return nil
}
