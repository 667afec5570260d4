package frame

import "encoding/binary"

// AppendFrame appends f as the bytes that Decode reads. Of the meta block, f.Meta.Raw is written.
// The caller keeps to the limits that Decode checks.
func AppendFrame(dst []byte, f *Frame) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	switch f.Type {
	case REQ:
		dst = binary.LittleEndian.AppendUint32(dst, f.Kind)
		dst = appendMetaBlock(dst, f)
	case OPEN:
		dst = binary.LittleEndian.AppendUint32(dst, f.Kind)
		dst = binary.LittleEndian.AppendUint32(dst, f.Credit)
		dst = appendMetaBlock(dst, f)
	case RES:
		dst = appendMetaBlock(dst, f)
		if f.Has(FlagErr) {
			dst = appendErrorBlock(dst, f)
		}
	case RESET:
		dst = binary.LittleEndian.AppendUint16(dst, uint16(f.Code))
		dst = append(dst, f.Text...)
	case CREDIT:
		dst = binary.LittleEndian.AppendUint32(dst, f.Credit)
	case ACK:
		dst = binary.LittleEndian.AppendUint64(dst, f.Count)
	case GOAWAY:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(f.Code)) // and the reserved field
		dst = binary.LittleEndian.AppendUint32(dst, f.RetryAfter)
		dst = binary.LittleEndian.AppendUint32(dst, f.Jitter)
		dst = append(dst, f.Text...)
	case BIND:
		dst = appendBind(dst, f)
	}
	dst = append(dst, f.Body...)
	MakeHeader(f.Type, f.Flags, f.ID, len(dst)-at-HeaderSize).Put(dst[at:])
	return dst
}

func appendMetaBlock(dst []byte, f *Frame) []byte {
	if !f.Has(FlagMeta) {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(f.Meta.Raw)))
	return append(dst, f.Meta.Raw...)
}

func appendErrorBlock(dst []byte, f *Frame) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(f.Code))
	var started byte
	if f.NotStarted {
		started = 1
	}
	dst = append(dst, started, 0)
	dst = binary.LittleEndian.AppendUint32(dst, f.RetryAfter)
	dst = binary.AppendUvarint(dst, uint64(len(f.Text)))
	return append(dst, f.Text...)
}

func appendBind(dst []byte, f *Frame) []byte {
	if len(f.Codec) == 0 {
		dst = appendCBORHead(dst, cborArray, 1)
		return appendCBORText(dst, f.Text)
	}
	dst = appendCBORHead(dst, cborArray, 2)
	dst = appendCBORText(dst, f.Text)
	return appendCBORText(dst, f.Codec)
}
