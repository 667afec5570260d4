package wire

import (
	"encoding"
	"fmt"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

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

// cborModes are strict: what two readers could understand differently is refused.
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
